/*
 * request.h -- what a caller waits for: the pieces of one pull, push or call.
 */
#ifndef DGI_REQUEST_H
#define DGI_REQUEST_H

#include "split.h"

#include <distgraph/client.h>

#include "deadline.h"

#include <stdbool.h>

struct dg_request {
	dg_client *client;
	struct dg_request *next; /* among the client's */
	struct dgi_deadline deadline;
	dg_tensor_info tensor; /* what texts name; zero for a call */
	bool is_push;
	struct dgi_split split; /* row numbers by partition, which the pieces refer to */
	size_t n_left;		/* pieces not settled */
	dg_status status;	/* the first failure; its text: */
	dg_error error;
};

/* A piece is settled: with OK, or with what @error says. */
void dgi_request_settle(struct dg_request *request, dg_status status, const dg_error *error);

#endif
