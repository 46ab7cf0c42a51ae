/* cmd_partition.c -- `distgraph partition`: cut a graph and write its stores. */
#include "cmd.h"
#include "graph_input.h"
#include "option.h"
#include "progress.h"
#include "report.h"

#include <distgraph/partition.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	uint64_t n_parts, seed, halo, trainers, memory_bytes;
	const char *output, *name, *method, *objective, *memory;
	struct graph_arguments graph;
	bool balance_types, balance_edges, force, verbose, json;
};

static const char about[] =
	"Reads the edges of a graph, cuts it into PARTS partitions, and writes one store per\n"
	"partition and the cluster file DIR/NAME.json. INPUT is text (CSV, TSV, blanks; a source\n"
	"and a destination a line, or head, relation and tail), .npy of shape (E,2), (2,E) or\n"
	"(E,3), MatrixMarket .mtx, METIS .graph, or a chunked graph's metadata.json; text, .npy,\n"
	".mtx and .graph may be packed by gzip. Ids are numbers or names; names are kept.\n"
	"Nothing is left behind when it fails. When it is interrupted or runs out of space, what "
	"is\n"
	"finished is kept in DIR.work, and the same command goes on from there.\n";

static const char examples[] =
	"  distgraph partition edges.csv -n 4 -o karate\n"
	"  distgraph partition edges.npy -n 8 -o big --node-data feat=feat.npy --seed 1\n"
	"  distgraph partition edges.npy -n 4 -o big --halo 2 --trainers 4 --memory 8G\n"
	"  distgraph partition a.csv.gz b.csv.gz -n 2 -o g --nodes 1000 --method random\n"
	"  distgraph partition -n 2 -o shop --edges user:buys:item=buys.csv --nodes "
	"item=items.txt\n";

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

static int partition(const struct arguments *a, const dg_graph_input *input)
{
	struct progress progress = progress_of(a->verbose);
	const dg_partition_options options = {
		.input = *input,
		.n_parts = (uint32_t)a->n_parts,
		.output = a->output,
		.graph_name = a->name,
		.method = a->method,
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
	struct graph_input graph = { 0 };
	const struct option own[] = {
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
	struct option options[GRAPH_OPTIONS + sizeof own / sizeof own[0]];
	const struct option_set set = {
		.command = "partition",
		.arguments = "[INPUT…] -n PARTS -o DIR",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 0,
		.n_arguments_max = SIZE_MAX,
	};
	size_t n;
	int code;

	graph_options(&a.graph, options);
	memcpy(options + GRAPH_OPTIONS, own, sizeof own);
	code = option_parse(&set, argc, argv, &n);

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
		code = graph_input_parse(&set, &a.graph, argv, n, &graph);
	if (code == OPTION_GO)
		code = partition(&a, &graph.input);
	graph_input_clear(&graph);
	graph_arguments_clear(&a.graph);
	return code;
}
