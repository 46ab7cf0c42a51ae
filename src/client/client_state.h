/* client_state.h -- a client from inside: what its files share. */
#ifndef DGI_CLIENT_STATE_H
#define DGI_CLIENT_STATE_H

#include "book.h"
#include "channel.h"
#include "request.h"

#include <stdatomic.h>
#include <sys/types.h>

struct dg_client {
	dg_cluster *cluster;
	const dg_book *book;
	uint32_t timeout_ms;
	pid_t pid; /* that opened it: a forked child shares sockets it must not use */
	char *ip_config;
	char **addresses; /* one a partition; NULL: by the rules */
	struct dgi_pool pool;
	struct dgi_channel *channels; /* one a partition */
	uint32_t n_channels;
	/* Of one round; an entry a channel: */
	struct dgi_conn **conns;
	dg_status *moved;
	dg_error *errors;
	struct dg_request *requests; /* open */
	struct dg_request *spare;    /* ended, with memory to be used again; NULL: none */
	_Atomic bool interrupted;
	dg_tensor_info *tensors; /* NULL until they are asked for */
	size_t n_tensors;
};

/* Is it ours to use? Fails with DENIED in a forked process. */
dg_status dgi_client_check(const dg_client *client, dg_error *err);

/* Pulls rows by @deadline, any number of them; see dg_client_pull(). */
dg_status dgi_client_pull(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
			  size_t n, void *out, struct dgi_deadline deadline, dg_error *err);

/*
 * Asks the server of @part and waits for the answer. @body has no block; it may be NULL. @out is to be
 * given back by dgi_message_clear(). Fails with CLOSED, TIMEOUT, CANCELLED, … and what the answer says.
 */
dg_status dgi_client_call(dg_client *client, uint32_t part, enum dgi_message_type type,
			  const struct dgi_body *body, struct dgi_deadline deadline,
			  struct dgi_message *out, dg_error *err);

/* For dg_client_close(). */
void dgi_client_end_requests(dg_client *client);

#endif
