/* cmd_plan.c -- `distgraph plan`: what cutting a graph will take. */
#include "cmd.h"
#include "option.h"
#include "report.h"

#include <distgraph/plan.h>

#include <inttypes.h>
#include <stdio.h>

struct arguments {
	uint64_t n_parts, n_nodes, n_edges, node_row_bytes, edge_row_bytes, memory_bytes;
	const char *memory;
	bool json;
};

static const char about[] =
	"Tells how much memory, disk and time `partition` will take by each method, from the\n"
	"counts that --nodes and --edges give, or that the files say; of text from a sample. "
	"INPUT\n"
	"is CSV or TSV (.gz too), .npy of shape (E,2), (E,3) or (2,E), or MatrixMarket. Memory "
	"and\n"
	"disk are the most it will be, time is about.\n";

static const char examples[] = "  distgraph plan edges.csv.gz -n 8\n"
			       "  distgraph plan edges.npy -n 8 --node-bytes 512 --memory 4G\n"
			       "  distgraph plan -n 64 --nodes 111000000 --edges 1600000000\n";

static void print_bytes(const char *before, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
		value /= 1024;
	printf("%s%.*f %s", before, value < 10 && unit > 0 ? 1 : 0, value, units[unit]);
}

static void print_seconds(double seconds)
{
	if (seconds < 100)
		printf(", about %.0f s", seconds < 1 ? 1 : seconds);
	else if (seconds < 6000)
		printf(", about %.0f min", seconds / 60);
	else
		printf(", about %.1f h", seconds / 3600);
}

static void print_method(const dg_plan_method *m)
{
	printf("%s: ", m->method);
	if (!m->possible) {
		printf("not possible: %s\n", m->why_not);
		return;
	}
	print_bytes("memory ", m->memory_bytes);
	print_bytes(", disk ", m->disk_bytes);
	print_seconds(m->seconds);
	putchar('\n');
}

static int print_plan(const dg_plan *plan, uint64_t n_parts)
{
	printf("%" PRId64 " nodes, %" PRId64 " edges%s\n", plan->n_nodes, plan->n_edges,
	       plan->sampled ? ", by a sample" : "");
	printf("%" PRIu64 " part%s: ", n_parts, n_parts == 1 ? "" : "s");
	print_bytes("stores of ", plan->store_bytes);
	print_bytes(", temporary files of ", plan->work_bytes);
	putchar('\n');
	for (size_t i = 0; i < DG_PLAN_METHODS; i++)
		print_method(&plan->methods[i]);
	return EXIT_DONE;
}

static json_t *method_json(const dg_plan_method *m)
{
	if (!m->possible)
		return json_pack("{s:s, s:b, s:s}", "method", m->method, "possible", 0, "why_not",
				 m->why_not);
	return json_pack("{s:s, s:b, s:I, s:I, s:f}", "method", m->method, "possible", 1,
			 "memory_bytes", (json_int_t)m->memory_bytes, "disk_bytes",
			 (json_int_t)m->disk_bytes, "seconds", m->seconds);
}

static int print_json(const dg_plan *plan)
{
	json_t *methods = json_array();

	for (size_t i = 0; i < DG_PLAN_METHODS; i++)
		(void)json_array_append_new(methods, method_json(&plan->methods[i]));
	return report_json(json_pack("{s:I, s:I, s:b, s:I, s:I, s:o}", "nodes",
				     (json_int_t)plan->n_nodes, "edges", (json_int_t)plan->n_edges,
				     "sampled", plan->sampled, "store_bytes",
				     (json_int_t)plan->store_bytes, "work_bytes",
				     (json_int_t)plan->work_bytes, "methods", methods));
}

static int make_plan(const struct arguments *a, char **inputs, size_t n_inputs)
{
	const dg_plan_options options = { .paths = (const char *const *)inputs,
					  .n_paths = n_inputs,
					  .n_parts = (uint32_t)a->n_parts,
					  .n_nodes = (int64_t)a->n_nodes,
					  .n_edges = (int64_t)a->n_edges,
					  .node_row_bytes = a->node_row_bytes,
					  .edge_row_bytes = a->edge_row_bytes,
					  .memory_bytes = a->memory_bytes };
	dg_plan plan;
	dg_error err;

	if (dg_plan_make(&options, &plan, &err))
		return report_error(&err);
	return a->json ? print_json(&plan) : print_plan(&plan, a->n_parts);
}

int cmd_plan(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "parts",
		  .letter = 'n',
		  .value = "PARTS",
		  .number = &a.n_parts,
		  .max = DG_PARTS_MAX,
		  .help = "number of partitions" },
		{ .name = "nodes",
		  .value = "N",
		  .number = &a.n_nodes,
		  .max = INT64_MAX,
		  .help = "number of nodes (default: the largest id of a sample, and 1)" },
		{ .name = "edges",
		  .value = "N",
		  .number = &a.n_edges,
		  .max = INT64_MAX,
		  .help = "number of edges (default: as the files say, or a sample of them)" },
		{ .name = "node-bytes",
		  .value = "BYTES",
		  .number = &a.node_row_bytes,
		  .max = DG_ROW_BYTES_MAX,
		  .help = "bytes of a node's data, of all tensors together (default 0)" },
		{ .name = "edge-bytes",
		  .value = "BYTES",
		  .number = &a.edge_row_bytes,
		  .max = DG_ROW_BYTES_MAX,
		  .help = "the same of an edge" },
		{ .name = "memory",
		  .value = "BYTES",
		  .text = &a.memory,
		  .help = "what partition will be told to stay within, such as 8G (default: 1G "
			  "for stream, no limit for the rest)" },
		{ .name = "json", .flag = &a.json, .help = "print the result as JSON" },
	};
	const struct option_set set = {
		.command = "plan",
		.arguments = "[INPUT…] -n PARTS",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 0,
		.n_arguments_max = SIZE_MAX,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	if (code == OPTION_GO && a.memory)
		code = option_bytes(&set, "memory", a.memory, &a.memory_bytes);
	if (code == OPTION_GO && !a.n_parts)
		code = option_usage_error(&set, "-n PARTS is wanted, 1 to %d", DG_PARTS_MAX);
	if (code == OPTION_GO && n == 0 && !a.n_nodes)
		code = option_usage_error(&set, "INPUT is wanted, or --nodes and --edges");
	return code == OPTION_GO ? make_plan(&a, argv, n) : code;
}
