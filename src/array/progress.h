/* progress.h -- tell the caller how far long work is, and hear whether to go on. */
#ifndef DGI_PROGRESS_H
#define DGI_PROGRESS_H

#include <distgraph/partition.h>

struct dgi_progress {
	dg_progress_fn *fn; /* NULL: nobody listens */
	void *context;
	const char *phase;
	uint64_t done;
	uint64_t total; /* 0 while unknown */
};

/* Begins a phase of @total units. Fails with CANCELLED, as the two below. */
dg_status dgi_progress_begin(struct dgi_progress *progress, const char *phase, uint64_t total,
			     dg_error *err);
/* @more units are done. @progress may be NULL. */
dg_status dgi_progress_add(struct dgi_progress *progress, uint64_t more, dg_error *err);
/* The phase is done, whatever was told before. */
dg_status dgi_progress_end(struct dgi_progress *progress, dg_error *err);

#endif
