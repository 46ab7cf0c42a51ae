/* graph_input.h -- the options that say what a graph is read from, for the commands that read one. */
#ifndef TOOL_GRAPH_INPUT_H
#define TOOL_GRAPH_INPUT_H

#include "option.h"

#include <distgraph/input.h>

/* As they stand on the command line. */
struct graph_arguments {
	struct option_texts edges, nodes, ids, node_data, edge_data;
	const char *format, *delimiter, *header, *columns, *relations;
};

#define GRAPH_OPTIONS 10

/* Writes the options whose targets are in @arguments to @out. */
void graph_options(struct graph_arguments *arguments, struct option out[GRAPH_OPTIONS]);
void graph_arguments_clear(struct graph_arguments *arguments);

/* What they mean. Strings lie in argv or in *copies. */
struct graph_input {
	dg_graph_input input;
	dg_input_edges *edges;
	dg_input_nodes *nodes;
	dg_input_data *data[2]; /* by side */
	char **copies;
	size_t n_copies;
};

/*
 * Reads the options and the @n arguments without a type. Returns OPTION_GO or the exit code to end
 * with after a complaint; to be cleared in any case.
 */
int graph_input_parse(const struct option_set *set, const struct graph_arguments *arguments,
		      char **inputs, size_t n, struct graph_input *out);
void graph_input_clear(struct graph_input *input);

#endif
