/*
 * service.h -- what a server does for each message: bytes of a request in, bytes of the answer
 * out. No sockets, no threads of its own; server.c, loop.c and writer.c carry the bytes.
 *
 * Threads: any number at once, except dgi_service_apply(), which is for one thread.
 */
#ifndef DGI_SERVICE_H
#define DGI_SERVICE_H

#include "message.h"
#include "pool.h"
#include "store.h"

#include <stdatomic.h>

struct dgi_service {
	dg_store *store; /* lent */
	struct dgi_volume *volume;
	dg_store_info info; /* as it was at the start */
	int64_t started_ms;
	_Atomic uint64_t log_number; /* newest write that every reader sees */
	_Atomic uint64_t connections;
	_Atomic uint64_t pulls, pushes, rows_pulled, rows_pushed;
};

void dgi_service_init(struct dgi_service *service, dg_store *store);

/* Reads what the client says of itself. Fails with PROTO, VERSION, MISMATCH (another
 * cluster, store or part, or a store older than the client met): the connection ends. */
dg_status dgi_service_hello(const struct dgi_service *service, const void *body, size_t n,
			    uint8_t out[DGI_WELCOME_BYTES], struct dgi_hello *hello, dg_error *err);

void dgi_service_ping(const struct dgi_service *service, uint8_t out[DGI_STATUS_BYTES]);

/* Writes the answer into @out of @room bytes and sets *written. Fails with PROTO, RANGE. */
dg_status dgi_service_describe(const struct dgi_service *service, const void *body, size_t n,
			       void *out, size_t room, size_t *written, dg_error *err);

/*
 * Answers about outside ids in a block of @pool, which is given. Fails with PROTO, NOTFOUND, RANGE (an
 * id of another partition), CORRUPT, NOMEM.
 */
dg_status dgi_service_ids(const struct dgi_service *service, const void *body, size_t n,
			  struct dgi_pool *pool, uint8_t **block, size_t *bytes, dg_error *err);

/* A pull that can be served, its rows translated to those of the store. */
struct dgi_pull_plan {
	const dg_tensor_info *tensor;
	const dg_id *rows; /* lent by the request's body */
	size_t n;
	uint64_t after; /* see struct dgi_pull */
	size_t reply_bytes;
};

/*
 * Reads a pull and translates its row numbers in place. Fails with PROTO, NOTFOUND (tensor), RANGE
 * (a row of another partition, or more than an answer holds).
 */
dg_status dgi_service_plan_pull(const struct dgi_service *service, void *body, size_t n,
				struct dgi_pull_plan *out, dg_error *err);
/* Begins the answer in @out, which has plan->reply_bytes: before any row is read. */
void dgi_service_begin_pull(struct dgi_service *service, const struct dgi_pull_plan *plan,
			    uint8_t *out);
/* Gathers rows [first, first + n) of the plan into it. Fails with CORRUPT, NOMEM. */
dg_status dgi_service_gather(struct dgi_service *service, const struct dgi_pull_plan *plan,
			     size_t first, size_t n, uint8_t *out, dg_error *err);

/*
 * Translates the row numbers of @push in place, which was decoded from @body, and sets the fields of
 * @out that say what to write; they are lent by @body. Fails as a pull does, and with MISMATCH (bytes
 * of a row), INVALID (a system tensor).
 */
dg_status dgi_service_plan_push(const struct dgi_service *service, void *body,
				const struct dgi_push *push, struct dgi_write *out, dg_error *err);
/* The write that expires a session; of a close it says only which. Fails with UNSUPPORTED (a store
 * without tensors). */
dg_status dgi_service_plan_end(const struct dgi_service *service, const struct dgi_session_end *end,
			       struct dgi_write *out, dg_error *err);
/* Applies them, see dgi_volume_apply(): each is to be acknowledged once it is durable. */
dg_status dgi_service_apply(struct dgi_service *service, struct dgi_write *writes, size_t n,
			    dg_error *err);
/* The same for a part of a large write, which counts as a push with its last one. */
dg_status dgi_service_apply_part(struct dgi_service *service, struct dgi_write *part,
				 dg_error *err);

#endif
