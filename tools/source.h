/*
 * source.h -- where a command reads from: one store, the servers of a cluster, or, when none of them
 * runs, the stores of a cluster.
 */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include <distgraph/array.h>
#include <distgraph/client.h>
#include <distgraph/store.h>

#include <jansson.h>
#include <stdbool.h>

/* How servers are reached; zero is the default of both. */
struct reach {
	const char *ip_config;
	uint64_t timeout_s;
};

/* Lines of an option table that set a struct reach. */
#define REACH_OPTIONS(reach) \
	{ .name = "ip-config", \
	  .value = "FILE", \
	  .text = &(reach).ip_config, \
	  .help = "addresses of the servers, one partition a line" }, \
	{ \
		.name = "timeout", .value = "SECONDS", .number = &(reach).timeout_s, \
		.max = 1000000, .help = "for each request (default 30)" \
	}

/* The line of an option table that makes commands read a store without its journal. */
#define NO_JOURNAL_OPTION(wanted) \
	{ \
		.name = "no-journal", .flag = &(wanted), \
		.help = "of a STORE: leave out pushes that no checkpoint has folded yet" \
	}

dg_status reach_client(const char *path, const struct reach *reach, dg_client **out, dg_error *err);

struct source {
	const char *path;
	bool is_cluster;
	bool without_journal; /* of a store */
	bool internal;	      /* of a cluster: rows are read by relabelled ids; set by commands */
	dg_client *client;    /* servers, or NULL */
	dg_cluster *cluster;  /* stores of a cluster, or NULL */
	dg_store **stores;    /* [n_stores], opened when first needed; of a cluster: by partition */
	uint32_t n_stores;
	const dg_book *book;
	dg_tensor_info *tensors; /* n_rows counts the store, or the whole graph of a cluster */
	size_t n_tensors;
};

/*
 * Opens @path: a directory is a store, a file a cluster. Says on stderr when it turns from servers
 * to stores, and what a store shows less @without_journal. Gives a source to close. Fails as
 * dg_store_open() and dg_client_open() do, and with INVALID (a cluster @without_journal).
 */
dg_status source_open(const char *path, const struct reach *reach, bool without_journal,
		      struct source *out, dg_error *err);
void source_close(struct source *source);

/* What a store without its journal leaves out, as a JSON object. */
json_t *source_left_out_json(const struct source *source);

/* The tensor meant by @text; lent. */
dg_status source_find(const struct source *source, const char *text, const dg_tensor_info **out,
		      dg_error *err);

/*
 * Reads rows [first, first + n) of a tensor to @out: a store's in the order of the store, a
 * cluster's in the order of the caller's original ids, or of relabelled ones if it is internal.
 */
dg_status source_read(struct source *source, const dg_tensor_info *tensor, dg_id first, size_t n,
		      void *out, dg_error *err);

/* Rows of a cluster's tensor, by its own numbering. */
dg_status source_gather(struct source *source, const dg_tensor_info *tensor, const dg_id *rows,
			size_t n, void *out, dg_error *err);

/* Opens those stores of a cluster that were not needed so far; servers need none. */
dg_status source_open_all(struct source *source, dg_error *err);

/* A cluster whose servers are asked by @client, which stays the caller's: nothing to close. */
struct source source_of_client(const char *path, dg_client *client);

/* How many rows of a tensor a command handles at once, so that it needs some MiB at most. */
size_t batch_rows(const dg_tensor_info *tensor);

/* Begins a .npy file for @n rows of a tensor. */
dg_status open_array(const char *path, const dg_tensor_info *tensor, int64_t n,
		     dg_array_writer **out, dg_error *err);

/* Is @path a directory? */
bool is_directory(const char *path);

#endif
