/* graph_input.c -- the options that say what a graph is read from. */
#include "graph_input.h"

#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void graph_options(struct graph_arguments *a, struct option out[GRAPH_OPTIONS])
{
	const struct option options[GRAPH_OPTIONS] = {
		{ .name = "edges",
		  .value = "SRC:REL:DST=FILE",
		  .texts = &a->edges,
		  .help = "a file of edges of this type; REL is * for triples; repeatable" },
		{ .name = "nodes",
		  .value = "[TYPE=]N|FILE",
		  .texts = &a->nodes,
		  .help = "number of nodes, or a file that lists their ids (CSV:COLUMN)" },
		{ .name = "node-data",
		  .value = "[TYPE/]NAME=FILE",
		  .texts = &a->node_data,
		  .help = "a .npy array with a row per node, or CSV:COLUMN[:DTYPE]; repeatable" },
		{ .name = "edge-data",
		  .value = "[TYPE/]NAME=FILE",
		  .texts = &a->edge_data,
		  .help = "the same with a row per edge; uint16 as NAME:bfloat16" },
		{ .name = "format",
		  .value = "FORMAT",
		  .text = &a->format,
		  .help = "text, npy, triples, mtx, metis, chunked (default: by name and "
			  "contents)" },
		{ .name = "ids",
		  .value = "[TYPE=]KIND",
		  .texts = &a->ids,
		  .help = "nodes are called by numbers, integers (any) or strings (default: by "
			  "looks)" },
		{ .name = "delimiter",
		  .value = "CHAR",
		  .text = &a->delimiter,
		  .help = "between columns: a byte, tab or space (default: by looks)" },
		{ .name = "header",
		  .value = "yes|no",
		  .text = &a->header,
		  .help = "is the first line of text a header? (default: by looks)" },
		{ .name = "columns",
		  .value = "LIST",
		  .text = &a->columns,
		  .help = "names or numbers of the columns SRC,DST or HEAD,RELATION,TAIL" },
		{ .name = "relations",
		  .value = "FILE",
		  .text = &a->relations,
		  .help = "names of the relations of triples, a line each" },
	};

	memcpy(out, options, sizeof options);
}

void graph_arguments_clear(struct graph_arguments *a)
{
	option_texts_clear(&a->edges);
	option_texts_clear(&a->nodes);
	option_texts_clear(&a->ids);
	option_texts_clear(&a->node_data);
	option_texts_clear(&a->edge_data);
}

/* --- Words --- */

struct word {
	const char *text;
	int value;
};

/* The value of a word in a list that ends with NULL; -1 where it is not there. */
static int value_of(const struct word *words, const char *text)
{
	for (; words->text; words++)
		if (strcmp(words->text, text) == 0)
			return words->value;
	return -1;
}

static int parse_format(const struct option_set *set, const char *text, dg_input_format *out)
{
	static const struct word words[] = {
		{ "text", DG_INPUT_TEXT },	 { "csv", DG_INPUT_TEXT },
		{ "npy", DG_INPUT_NPY },	 { "triples", DG_INPUT_TRIPLES },
		{ "mtx", DG_INPUT_MTX },	 { "metis", DG_INPUT_METIS },
		{ "chunked", DG_INPUT_CHUNKED }, { NULL, 0 },
	};
	int value = value_of(words, text);

	if (value < 0)
		return option_usage_error(set,
					  "--format: '%s', want text, npy, triples, mtx, metis or "
					  "chunked",
					  text);
	*out = (dg_input_format)value;
	return OPTION_GO;
}

static int parse_kind(const struct option_set *set, const char *text, dg_input_ids *out)
{
	static const struct word words[] = { { "numbers", DG_INPUT_IDS_NUMBERS },
					     { "integers", DG_INPUT_IDS_INTEGERS },
					     { "strings", DG_INPUT_IDS_STRINGS },
					     { NULL, 0 } };
	int value = value_of(words, text);

	if (value < 0)
		return option_usage_error(set, "--ids: '%s', want numbers, integers or strings",
					  text);
	*out = (dg_input_ids)value;
	return OPTION_GO;
}

static int parse_delimiter(const struct option_set *set, const char *text, char *out)
{
	static const struct word words[] = {
		{ "tab", '\t' }, { "\\t", '\t' }, { "space", ' ' }, { NULL, 0 }
	};
	int value = value_of(words, text);

	if (value < 0 && text[0] && !text[1] && !strchr("\n\r\"#%", text[0]))
		value = (unsigned char)text[0];
	if (value < 0)
		return option_usage_error(set, "--delimiter: '%s', want a byte, tab or space",
					  text);
	*out = (char)value;
	return OPTION_GO;
}

static int parse_header(const struct option_set *set, const char *text, int *out)
{
	static const struct word words[] = { { "yes", 1 }, { "no", 0 }, { NULL, 0 } };
	int value = value_of(words, text);

	if (value < 0)
		return option_usage_error(set, "--header: '%s', want yes or no", text);
	*out = value ? 1 : -1;
	return OPTION_GO;
}

static int parse_words(const struct option_set *set, const struct graph_arguments *a,
		       dg_graph_input *input)
{
	int code = OPTION_GO;

	input->columns = a->columns;
	input->relations = a->relations;
	if (a->format)
		code = parse_format(set, a->format, &input->format);
	if (code == OPTION_GO && a->delimiter)
		code = parse_delimiter(set, a->delimiter, &input->delimiter);
	if (code == OPTION_GO && a->header)
		code = parse_header(set, a->header, &input->header);
	return code;
}

/* --- Files --- */

/* A copy to be cut; lives as long as @input. */
static char *copy_of(struct graph_input *input, const char *text)
{
	char *copy = strdup(text);

	if (copy)
		input->copies[input->n_copies++] = copy;
	return copy;
}

/* Cuts "FILE.csv:COLUMN" behind the name of a text file; NULL: there is no column. */
static char *cut_column(char *path)
{
	static const char *const endings[] = { ".csv",	  ".tsv",    ".txt",
					       ".csv.gz", ".tsv.gz", ".txt.gz" };

	for (char *colon = strchr(path, ':'); colon; colon = strchr(colon + 1, ':'))
		for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
			size_t n = strlen(endings[i]);

			if ((size_t)(colon - path) > n && colon[1] &&
			    strncasecmp(colon - n, endings[i], n) == 0) {
				*colon = '\0';
				return colon + 1;
			}
		}
	return NULL;
}

static int parse_edges(const struct option_set *set, struct graph_input *g, const char *text)
{
	char *type = copy_of(g, text);
	char *file = type ? strchr(type, '=') : NULL;

	if (!type)
		return report("out of memory");
	if (!file || !file[1])
		return option_usage_error(set, "--edges: '%s' is not SRC:REL:DST=FILE", text);
	*file++ = '\0';
	g->edges[g->input.n_edges++] = (dg_input_edges){ .type = type, .path = file };
	return OPTION_GO;
}

static bool is_number(const char *text, int64_t *out)
{
	char *end;
	long long number;

	for (const char *c = text; *c; c++)
		if (!isdigit((unsigned char)*c))
			return false;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || end == text)
		return false;
	*out = number;
	return true;
}

static int parse_nodes(const struct option_set *set, struct graph_input *g, const char *text)
{
	dg_input_nodes *nodes = &g->nodes[g->input.n_nodes];
	char *type = copy_of(g, text);
	char *value = type ? strchr(type, '=') : NULL;

	if (!type)
		return report("out of memory");
	*nodes = (dg_input_nodes){ .type = value ? type : NULL, .count = -1 };
	if (value)
		*value++ = '\0';
	else
		value = type;
	if (!*value)
		return option_usage_error(set, "--nodes: '%s' is not [TYPE=]N or [TYPE=]FILE",
					  text);
	if (!is_number(value, &nodes->count)) {
		nodes->path = value;
		nodes->column = cut_column(value);
	}
	g->input.n_nodes++;
	return OPTION_GO;
}

/* Of one type it goes to what --nodes says of it, or is said here alone. */
static int parse_ids(const struct option_set *set, struct graph_input *g, const char *text)
{
	char *type = copy_of(g, text);
	char *kind = type ? strrchr(type, '=') : NULL;
	size_t i = 0;

	if (!type)
		return report("out of memory");
	if (!kind)
		return parse_kind(set, type, &g->input.ids);
	*kind++ = '\0';
	while (i < g->input.n_nodes &&
	       strcmp(g->nodes[i].type ? g->nodes[i].type : "_N", type) != 0)
		i++;
	if (i == g->input.n_nodes)
		g->nodes[g->input.n_nodes++] = (dg_input_nodes){ .type = type, .count = -1 };
	return parse_kind(set, kind, &g->nodes[i].ids);
}

/* Cuts ":bfloat16" off the end of a name. */
static bool cut_bfloat16(char *name)
{
	static const char ending[] = ":bfloat16";
	size_t n = strlen(name);
	bool has = n >= sizeof ending && !strcmp(name + n - (sizeof ending - 1), ending);

	if (has)
		name[n - (sizeof ending - 1)] = '\0';
	return has;
}

/* Cuts ":DTYPE" off the end of a column. */
static int cut_dtype(const struct option_set *set, const char *option, char *column, dg_dtype *out)
{
	char *colon = strrchr(column, ':');
	dg_error err;

	if (!colon)
		return OPTION_GO;
	if (dg_dtype_parse(colon + 1, out, &err))
		return option_usage_error(set, "--%s: %s", option, err.text);
	*colon = '\0';
	return OPTION_GO;
}

/* "[TYPE/]NAME[:bfloat16]=FILE[:COLUMN[:DTYPE]]" */
static int parse_data(const struct option_set *set, struct graph_input *g, dg_side side,
		      const char *text)
{
	const char *option = side == DG_NODE ? "node-data" : "edge-data";
	size_t *n = side == DG_NODE ? &g->input.n_node_data : &g->input.n_edge_data;
	dg_input_data *data = &g->data[side][*n];
	char *name = copy_of(g, text);
	char *file = name ? strchr(name, '=') : NULL;
	char *slash, *column;

	if (!name)
		return report("out of memory");
	if (!file || file == name || !file[1])
		return option_usage_error(set, "--%s: '%s' is not [TYPE/]NAME=FILE", option, text);
	*file++ = '\0';
	slash = strrchr(name, '/');
	if (slash)
		*slash = '\0';
	column = cut_column(file);
	*data = (dg_input_data){ .type = slash ? name : NULL,
				 .name = slash ? slash + 1 : name,
				 .path = file,
				 .column = column,
				 .bfloat16 = cut_bfloat16(slash ? slash + 1 : name) };
	++*n;
	return column ? cut_dtype(set, option, column, &data->dtype) : OPTION_GO;
}

/* --- All --- */

static int allocate(const struct graph_arguments *a, size_t n, struct graph_input *g)
{
	const size_t n_nodes = a->nodes.n + a->ids.n;

	g->edges = calloc(n + a->edges.n + 1, sizeof *g->edges);
	g->nodes = calloc(n_nodes + 1, sizeof *g->nodes);
	g->data[DG_NODE] = calloc(a->node_data.n + 1, sizeof *g->data[DG_NODE]);
	g->data[DG_EDGE] = calloc(a->edge_data.n + 1, sizeof *g->data[DG_EDGE]);
	g->copies = calloc(a->edges.n + n_nodes + a->node_data.n + a->edge_data.n + 1,
			   sizeof *g->copies);
	if (!g->edges || !g->nodes || !g->data[DG_NODE] || !g->data[DG_EDGE] || !g->copies)
		return report("out of memory");
	g->input.edges = g->edges;
	g->input.nodes = g->nodes;
	g->input.node_data = g->data[DG_NODE];
	g->input.edge_data = g->data[DG_EDGE];
	return OPTION_GO;
}

int graph_input_parse(const struct option_set *set, const struct graph_arguments *a, char **inputs,
		      size_t n, struct graph_input *out)
{
	int code;

	*out = (struct graph_input){ 0 };
	code = allocate(a, n, out);
	if (code == OPTION_GO)
		code = parse_words(set, a, &out->input);
	if (code == OPTION_GO && n + a->edges.n == 0)
		code = option_usage_error(set, "INPUT or --edges is wanted");
	for (size_t i = 0; code == OPTION_GO && i < n; i++)
		out->edges[out->input.n_edges++] = (dg_input_edges){ .path = inputs[i] };
	for (size_t i = 0; code == OPTION_GO && i < a->edges.n; i++)
		code = parse_edges(set, out, a->edges.items[i]);
	for (size_t i = 0; code == OPTION_GO && i < a->nodes.n; i++)
		code = parse_nodes(set, out, a->nodes.items[i]);
	for (size_t i = 0; code == OPTION_GO && i < a->ids.n; i++)
		code = parse_ids(set, out, a->ids.items[i]);
	for (size_t i = 0; code == OPTION_GO && i < a->node_data.n; i++)
		code = parse_data(set, out, DG_NODE, a->node_data.items[i]);
	for (size_t i = 0; code == OPTION_GO && i < a->edge_data.n; i++)
		code = parse_data(set, out, DG_EDGE, a->edge_data.items[i]);
	return code;
}

void graph_input_clear(struct graph_input *g)
{
	for (size_t i = 0; i < g->n_copies; i++)
		free(g->copies[i]);
	free(g->copies);
	free(g->edges);
	free(g->nodes);
	free(g->data[DG_NODE]);
	free(g->data[DG_EDGE]);
	*g = (struct graph_input){ 0 };
}
