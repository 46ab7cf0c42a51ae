/* cmd_status.c -- `distgraph status`: how each server of a cluster, or the one at an address, is. */
#include "cmd.h"
#include "option.h"
#include "report.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct arguments {
	struct reach reach;
	bool json;
};

static const char about[] =
	"Asks each server of the cluster, or the one at ADDR (HOST:PORT or unix:PATH), how it is:\n"
	"process, incarnation (starts so far), time since its start, open connections, requests\n"
	"and rows so far, round trip. Exits 1 when a part does not answer.\n";

static const char examples[] = "  distgraph status karate/karate.json\n"
			       "  distgraph status karate/karate.json --json\n"
			       "  distgraph status 10.0.0.7:30050\n";

static json_t *status_json(uint32_t part, const dg_server_status *s)
{
	char uuid[DG_UUID_TEXT_BYTES];

	uuid_text(&s->store.store_uuid, uuid);
	return json_pack("{s:I, s:b, s:I, s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:f}",
			 "part", (json_int_t)part, "running", 1, "pid", (json_int_t)s->pid,
			 "store_uuid", uuid, "incarnation", (json_int_t)s->store.incarnation,
			 "log_number", (json_int_t)s->store.log_number, "uptime_ms",
			 (json_int_t)s->uptime_ms, "address", s->address, "connections",
			 (json_int_t)s->connections, "pulls", (json_int_t)s->pulls, "pushes",
			 (json_int_t)s->pushes, "rows_pulled", (json_int_t)s->rows_pulled,
			 "rows_pushed", (json_int_t)s->rows_pushed, "round_trip_ms",
			 s->round_trip_ms);
}

static void print_header(void)
{
	printf("%4s %-7s %7s %6s %9s %5s %9s %9s %11s %11s %9s  %s\n", "PART", "STATE", "PID",
	       "STARTS", "UPTIME", "CONNS", "PULLS", "PUSHES", "ROWS-PULLED", "ROWS-PUSHED",
	       "TRIP-MS", "ADDRESS");
}

static void print_status(uint32_t part, const dg_server_status *s)
{
	printf("%4" PRIu32 " running %7" PRId64 " %6" PRIu64 " %8.1fs %5" PRIu64 " %9" PRIu64
	       " %9" PRIu64 " %11" PRIu64 " %11" PRIu64 " %9.3f  %s\n",
	       part, s->pid, s->store.incarnation, (double)s->uptime_ms / 1000, s->connections,
	       s->pulls, s->pushes, s->rows_pulled, s->rows_pushed, s->round_trip_ms, s->address);
}

/* Prints or appends to @list what is known of one part; true if it runs. */
static bool tell_part(dg_client *client, uint32_t part, json_t *list)
{
	dg_server_status status;
	dg_error err;

	if (dg_client_server_status(client, part, &status, &err) == DG_OK) {
		if (list)
			(void)json_array_append_new(list, status_json(part, &status));
		else
			print_status(part, &status);
		return true;
	}
	if (list)
		(void)json_array_append_new(list,
					    json_pack("{s:I, s:b, s:s}", "part", (json_int_t)part,
						      "running", 0, "error", err.text));
	else
		printf("%4" PRIu32 " down\n", part);
	(void)report_error(&err);
	return false;
}

static int cluster_status(const char *path, const struct arguments *a)
{
	json_t *list = a->json ? json_array() : NULL;
	dg_client *client;
	dg_error err;
	int code = EXIT_DONE;
	uint32_t n_parts;

	if (reach_client(path, &a->reach, &client, &err)) {
		json_decref(list);
		return report_error(&err);
	}
	if (!a->json)
		print_header();
	n_parts = dg_book_n_parts(dg_client_book(client));
	for (uint32_t part = 0; part < n_parts; part++)
		if (!tell_part(client, part, list))
			code = EXIT_FAILED;
	if (a->json &&
	    report_json(json_pack("{s:s, s:o}", "graph",
				  dg_cluster_graph_name(dg_client_cluster(client)), "parts", list)))
		code = EXIT_FAILED;
	dg_client_close(client);
	return code;
}

/* The same of one server, which does not know what its graph is called. */
static int address_status(const char *address, const struct arguments *a)
{
	dg_server_status s;
	dg_error err;
	char uuid[DG_UUID_TEXT_BYTES];

	if (dg_server_status_at(address, (uint32_t)a->reach.timeout_s * 1000, &s, &err))
		return report_error(&err);
	uuid_text(&s.store.cluster_uuid, uuid);
	if (a->json)
		return report_json(json_pack("{s:s, s:I, s:[o]}", "cluster_uuid", uuid, "n_parts",
					     (json_int_t)s.store.n_parts, "parts",
					     status_json(s.store.part, &s)));
	print_header();
	print_status(s.store.part, &s);
	return EXIT_DONE;
}

/* A name with a colon, unless there is a file of this name. */
static bool is_address(const char *text)
{
	return strchr(text, ':') && access(text, F_OK) != 0;
}

int cmd_status(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		REACH_OPTIONS(a.reach),
		{ .name = "json", .flag = &a.json, .help = "print the result as JSON" },
	};
	const struct option_set set = {
		.command = "status",
		.arguments = "CLUSTER.json|ADDR",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 1,
		.n_arguments_max = 1,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	if (code != OPTION_GO)
		return code;
	return is_address(argv[0]) ? address_status(argv[0], &a) : cluster_status(argv[0], &a);
}
