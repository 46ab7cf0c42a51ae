/* cmd_check.c -- `distgraph check`: look for damage in one store or in those of a cluster. */
#include "cmd.h"
#include "option.h"
#include "report.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct arguments {
	bool deep, json;
};

static const char about[] =
	"Reads stores that no server has open and lists what is damaged: pages, records, "
	"catalogue;\n"
	"with --deep also every checksum and the structure of the graph. Writes nothing. Of a\n"
	"cluster every partition is checked, and that its stores belong together; with --deep "
	"that\n"
	"each node and edge is stored once, where it belongs.\n"
	"Exits 0 when all is sound, 3 when damage is found, 1 when a store cannot be checked.\n";

static const char examples[] = "  distgraph check karate/part0\n"
			       "  distgraph check karate/karate.json --deep\n";

/* What becomes of one check after the other. */
struct outcome {
	const struct arguments *arguments;
	const char *path; /* of the store under way */
	json_t *findings; /* its list, with --json */
	json_t *stores;
	json_t *whole;	  /* of a cluster, with --json and --deep */
	uint64_t damaged; /* of the store under way */
	bool any_damage, any_failure;
};

static void take_finding(void *context, const dg_finding *finding)
{
	struct outcome *o = context;
	const char *kind = finding->status ? dg_status_text(finding->status) : "remark";

	if (o->arguments->json)
		(void)json_array_append_new(o->findings,
					    json_pack("{s:s, s:s, s:s}", "kind", kind, "where",
						      finding->where, "what", finding->what));
	else
		printf("%s: %s: %s: %s\n", o->path, finding->where, kind, finding->what);
}

static void add_mismatch(struct outcome *o, const char *what)
{
	dg_finding finding = { .status = DG_MISMATCH, .where = "superblock" };

	(void)snprintf(finding.what, sizeof finding.what, "%s", what);
	take_finding(o, &finding);
	o->damaged++;
}

/* Is the store this partition of this cluster? One that does not open has been found damaged. */
static void check_place(struct outcome *o, const dg_cluster *cluster, uint32_t part)
{
	const dg_store_options read_only = { 0 };
	const dg_uuid wanted = dg_cluster_uuid(cluster);
	char text[128], found[DG_UUID_TEXT_BYTES];
	dg_store_info info;
	dg_store *store;
	dg_error ignored;

	if (dg_store_open(o->path, &read_only, &store, &ignored))
		return;
	dg_store_get_info(store, &info);
	dg_store_close(store);
	if (memcmp(&info.cluster_uuid, &wanted, sizeof wanted) != 0) {
		uuid_text(&info.cluster_uuid, found);
		(void)snprintf(text, sizeof text, "belongs to another cluster, %s", found);
		add_mismatch(o, text);
	} else if (info.part != part) {
		(void)snprintf(text, sizeof text,
			       "is the store of part %" PRIu32 ", not of part %" PRIu32, info.part,
			       part);
		add_mismatch(o, text);
	}
}

static void tell_result(struct outcome *o, const dg_check_report *r)
{
	if (o->arguments->json)
		(void)json_array_append_new(
			o->stores,
			json_pack("{s:s, s:b, s:I, s:I, s:I, s:O}", "store", o->path, "sound",
				  o->damaged == 0, "pages", (json_int_t)r->pages, "chunks",
				  (json_int_t)r->chunks, "bytes", (json_int_t)r->bytes, "findings",
				  o->findings));
	else
		printf("%s: %s, %" PRIu64 " pages, %" PRIu64 " chunks, %" PRIu64
		       " bytes verified\n",
		       o->path, o->damaged ? "DAMAGED" : "sound", r->pages, r->chunks, r->bytes);
}

/* @cluster is NULL for a store alone. */
static void check_store(struct outcome *o, const char *path, const dg_cluster *cluster,
			uint32_t part)
{
	dg_check_report result = { 0 };
	dg_error err;

	o->path = path;
	o->damaged = 0;
	o->findings = o->arguments->json ? json_array() : NULL;
	if (dg_store_check(path, o->arguments->deep, take_finding, o, &result, &err)) {
		o->any_failure = true;
		(void)report_error(&err);
		if (o->arguments->json)
			(void)json_array_append_new(o->stores, json_pack("{s:s, s:s}", "store",
									 path, "error", err.text));
	} else {
		o->damaged += result.damaged;
		if (cluster)
			check_place(o, cluster, part);
		tell_result(o, &result);
	}
	json_decref(o->findings);
	o->any_damage |= o->damaged > 0;
}

/* What no store can tell alone; asked only where each by itself is sound. */
static void check_whole(struct outcome *o, const char *path, const dg_cluster *cluster)
{
	dg_error err;
	dg_status st = dg_cluster_check(cluster, &err);
	const bool damage = st == DG_CORRUPT || st == DG_MISMATCH;

	if (!o->arguments->json && !st)
		printf("%s: each node and edge is stored once, where it belongs\n", path);
	if (!o->arguments->json && damage)
		printf("%s: DAMAGED: %s\n", path, err.text);
	if (st && !damage)
		(void)report_error(&err);
	if (o->arguments->json)
		o->whole = st ? json_pack("{s:s, s:b, s:s}", "cluster", path, "sound", 0, "error",
					  err.text)
			      : json_pack("{s:s, s:b}", "cluster", path, "sound", 1);
	o->any_damage |= damage;
	o->any_failure |= st && !damage;
}

static int report_outcome(struct outcome *o)
{
	json_t *result = json_pack("{s:o}", "stores", o->stores);

	if (o->whole)
		(void)json_object_set_new(result, "whole", o->whole);
	return report_json(result);
}

static int check(const char *path, const struct arguments *a)
{
	struct outcome o = { .arguments = a, .stores = a->json ? json_array() : NULL };
	dg_cluster *cluster = NULL;
	dg_error err;

	if (is_directory(path)) {
		check_store(&o, path, NULL, 0);
	} else if (dg_cluster_open(path, &cluster, &err)) {
		json_decref(o.stores);
		return report_error(&err);
	} else {
		uint32_t n_parts = dg_book_n_parts(dg_cluster_book(cluster));

		for (uint32_t part = 0; part < n_parts; part++)
			check_store(&o, dg_cluster_part_path(cluster, part), cluster, part);
		if (a->deep && !o.any_damage && !o.any_failure)
			check_whole(&o, path, cluster);
	}
	if (a->json && report_outcome(&o))
		o.any_failure = true;
	dg_cluster_close(cluster);
	return o.any_damage ? EXIT_DAMAGE : o.any_failure ? EXIT_FAILED : EXIT_DONE;
}

int cmd_check(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "deep",
		  .flag = &a.deep,
		  .help = "verify every checksum and the graph's structure" },
		{ .name = "json", .flag = &a.json, .help = "print the result as JSON" },
	};
	const struct option_set set = {
		.command = "check",
		.arguments = "STORE|CLUSTER.json",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 1,
		.n_arguments_max = 1,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	return code == OPTION_GO ? check(argv[0], &a) : code;
}
