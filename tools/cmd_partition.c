/* cmd_partition.c -- `distgraph partition`: cut a graph and write its stores. */
#include "cmd.h"
#include "option.h"
#include "progress.h"
#include "report.h"

#include <distgraph/partition.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	uint64_t n_parts, n_nodes, seed, halo, trainers, memory_bytes;
	const char *output, *name, *method, *objective, *memory;
	struct option_texts node_data, edge_data;
	bool balance_types, balance_edges, force, verbose, json;
};

static const char about[] =
	"Reads the edges of a graph, cuts it into PARTS partitions, and writes one store per\n"
	"partition and the cluster file DIR/NAME.json. INPUT is CSV or TSV with a source and a\n"
	"destination number in each line (.gz too), or a .npy array of shape (E,2) or (2,E).\n"
	"Nothing is left behind when it fails. When it is interrupted or runs out of space, what "
	"is\n"
	"finished is kept in DIR.work, and the same command goes on from there.\n";

static const char examples[] =
	"  distgraph partition edges.csv -n 4 -o karate\n"
	"  distgraph partition edges.npy -n 8 -o big --node-data feat=feat.npy --seed 1\n"
	"  distgraph partition edges.npy -n 4 -o big --halo 2 --trainers 4 --memory 8G\n"
	"  distgraph partition a.csv.gz b.csv.gz -n 2 -o g --nodes 1000 --method random\n";

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

/* "[TYPE/]NAME[:bfloat16]=FILE", cut in place in a copy that the caller frees. */
static int parse_data(const struct option_set *set, const char *option, char *text,
		      dg_partition_data *out)
{
	char *file = strchr(text, '=');
	char *slash;

	if (!file || file == text || !file[1])
		return option_usage_error(set, "--%s: '%s' is not [TYPE/]NAME=FILE", option, text);
	*file++ = '\0';
	slash = strrchr(text, '/');
	if (slash)
		*slash = '\0';
	*out = (dg_partition_data){ .type = slash ? text : NULL,
				    .name = slash ? slash + 1 : text,
				    .path = file,
				    .bfloat16 = cut_bfloat16(slash ? slash + 1 : text) };
	return OPTION_GO;
}

/* The list that --node-data or --edge-data gave; its strings are cut from *copies. */
struct data_list {
	dg_partition_data *items;
	char **copies;
	size_t n;
};

static void data_list_clear(struct data_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->copies[i]);
	free(list->copies);
	free(list->items);
}

static int parse_data_list(const struct option_set *set, const char *option,
			   const struct option_texts *texts, struct data_list *out)
{
	int code = OPTION_GO;

	out->items = calloc(texts->n + 1, sizeof *out->items);
	out->copies = calloc(texts->n + 1, sizeof *out->copies);
	if (!out->items || !out->copies)
		return report("out of memory");
	for (size_t i = 0; code == OPTION_GO && i < texts->n; i++) {
		out->copies[i] = strdup(texts->items[i]);
		out->n = i + 1;
		code = out->copies[i] ? parse_data(set, option, out->copies[i], &out->items[i])
				      : report("out of memory");
	}
	return code;
}

static int print_report(const dg_partition_report *r, uint64_t n_parts, bool json)
{
	double share = r->n_edges ? 100.0 * (double)r->edges_cut / (double)r->n_edges : 0;

	if (json)
		return report_json(json_pack(
			"{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I}", "cluster", r->cluster_path,
			"parts", (json_int_t)n_parts, "nodes", (json_int_t)r->n_nodes, "edges",
			(json_int_t)r->n_edges, "edges_cut", (json_int_t)r->edges_cut,
			"node_balance", r->node_balance, "edge_balance", r->edge_balance,
			"halo_nodes", (json_int_t)r->halo_nodes, "halo_edges",
			(json_int_t)r->halo_edges));
	printf("%s: %" PRIu64 " parts, %" PRId64 " nodes, %" PRId64 " edges, %" PRId64
	       " cut (%.1f %%)\n",
	       r->cluster_path, n_parts, r->n_nodes, r->n_edges, r->edges_cut, share);
	if (n_parts > 1)
		printf("largest part: %.2f of the even share of nodes, %.2f of edges\n",
		       r->node_balance, r->edge_balance);
	return EXIT_DONE;
}

static int partition(const struct arguments *a, char **inputs, size_t n_inputs,
		     const struct data_list *node_data, const struct data_list *edge_data)
{
	struct progress progress = progress_of(a->verbose);
	const dg_partition_options options = {
		.edge_paths = (const char *const *)inputs,
		.n_edge_paths = n_inputs,
		.n_parts = (uint32_t)a->n_parts,
		.output = a->output,
		.graph_name = a->name,
		.method = a->method,
		.n_nodes = (int64_t)a->n_nodes,
		.node_data = node_data->items,
		.n_node_data = node_data->n,
		.edge_data = edge_data->items,
		.n_edge_data = edge_data->n,
		.seed = a->seed,
		.halo_hops = a->halo ? (uint32_t)a->halo : DG_HALO_NONE,
		.n_trainers = (uint32_t)a->trainers,
		.balance_types = a->balance_types,
		.balance_edges = a->balance_edges,
		.volume = a->objective && strcmp(a->objective, "vol") == 0,
		.memory_bytes = a->memory_bytes,
		.force = a->force,
		.progress = progress_update,
		.progress_context = &progress,
	};
	dg_partition_report result;
	dg_error err;
	dg_status st;

	if (a->verbose) /* what the cut has come to */
		dg_log_set(report_log, NULL, DG_LOG_INFO);
	progress_catch_signals();
	st = dg_partition(&options, &result, &err);
	progress_end(&progress);
	if (st)
		return report_error(&err);
	return print_report(&result, a->n_parts, a->json);
}

int cmd_partition(int argc, char **argv)
{
	struct arguments a = { .halo = 1 };
	struct data_list node_data = { 0 }, edge_data = { 0 };
	const struct option options[] = {
		{ .name = "parts",
		  .letter = 'n',
		  .value = "PARTS",
		  .number = &a.n_parts,
		  .max = DG_PARTS_MAX,
		  .help = "number of partitions" },
		{ .name = "output",
		  .letter = 'o',
		  .value = "DIR",
		  .text = &a.output,
		  .help = "directory to make" },
		{ .name = "name",
		  .value = "NAME",
		  .text = &a.name,
		  .help = "name of the graph (default: last part of DIR)" },
		{ .name = "method",
		  .value = "METHOD",
		  .text = &a.method,
		  .help = "metis (default), stream, random, or an assignment [TYPE=]FILE,…" },
		{ .name = "objective",
		  .value = "cut|vol",
		  .text = &a.objective,
		  .help = "metis: few edges cut (default), or few nodes that others need" },
		{ .name = "balance-types",
		  .flag = &a.balance_types,
		  .help = "share out each node type evenly by itself" },
		{ .name = "balance-edges",
		  .flag = &a.balance_edges,
		  .help = "share out edges evenly" },
		{ .name = "nodes",
		  .value = "N",
		  .number = &a.n_nodes,
		  .max = INT64_MAX,
		  .help = "number of nodes (default: rows of node data, else largest id + 1)" },
		{ .name = "node-data",
		  .value = "[TYPE/]NAME=FILE",
		  .texts = &a.node_data,
		  .help = "a .npy array with a row per node; repeatable; uint16 as NAME:bfloat16" },
		{ .name = "edge-data",
		  .value = "[TYPE/]NAME=FILE",
		  .texts = &a.edge_data,
		  .help = "the same with a row per edge" },
		{ .name = "seed",
		  .value = "S",
		  .number = &a.seed,
		  .help = "of the partitioner; the same seed gives the same cut (default 0)" },
		{ .name = "halo",
		  .value = "H",
		  .number = &a.halo,
		  .max = DG_HALO_HOPS_MAX,
		  .help = "hops around its nodes that a partition stores (default 1)" },
		{ .name = "trainers",
		  .value = "K",
		  .number = &a.trainers,
		  .max = UINT16_MAX,
		  .help = "cut each partition for K trainers: data trainer_id of nodes and edges" },
		{ .name = "memory",
		  .value = "BYTES",
		  .text = &a.memory,
		  .help = "memory to stay within, such as 8G (default: half of the machine's)" },
		{ .name = "force", .flag = &a.force, .help = "replace DIR if it exists" },
		{ .name = "json", .flag = &a.json, .help = "print the result as JSON" },
		{ .name = "verbose",
		  .letter = 'v',
		  .flag = &a.verbose,
		  .help = "name each phase on stderr" },
	};
	const struct option_set set = {
		.command = "partition",
		.arguments = "INPUT… -n PARTS -o DIR",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 1,
		.n_arguments_max = SIZE_MAX,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	if (code == OPTION_GO && !a.n_parts)
		code = option_usage_error(&set, "-n PARTS is wanted, 1 to %d", DG_PARTS_MAX);
	if (code == OPTION_GO && !a.output)
		code = option_usage_error(&set, "-o DIR is wanted");
	if (code == OPTION_GO && a.objective && strcmp(a.objective, "cut") != 0 &&
	    strcmp(a.objective, "vol") != 0)
		code = option_usage_error(&set, "--objective: '%s', want cut or vol", a.objective);
	if (code == OPTION_GO && a.memory)
		code = option_bytes(&set, "memory", a.memory, &a.memory_bytes);
	if (code == OPTION_GO)
		code = parse_data_list(&set, "node-data", &a.node_data, &node_data);
	if (code == OPTION_GO)
		code = parse_data_list(&set, "edge-data", &a.edge_data, &edge_data);
	if (code == OPTION_GO)
		code = partition(&a, argv, n, &node_data, &edge_data);
	data_list_clear(&node_data);
	data_list_clear(&edge_data);
	option_texts_clear(&a.node_data);
	option_texts_clear(&a.edge_data);
	return code;
}
