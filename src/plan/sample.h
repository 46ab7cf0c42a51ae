/* sample.h -- how many edges a file has and how large its ids are, by a look at some of it. */
#ifndef DGI_SAMPLE_H
#define DGI_SAMPLE_H

#include <distgraph/error.h>

#include <stdbool.h>
#include <stdint.h>

struct dgi_sample {
	int64_t n_edges;
	int64_t largest; /* id seen, or told by the file's header less 1; -1: none */
	bool exact_edges;
	bool exact_nodes;
	bool numbers; /* ids are */
};

/* Fails with NOTFOUND, INVALID, DENIED, UNSUPPORTED, IO, NOMEM. */
dg_status dgi_sample_file(const char *path, struct dgi_sample *out, dg_error *err);

#endif
