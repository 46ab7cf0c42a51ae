/*
 * transfer.h -- one pull or push of a client: requests to all partitions concerned, several under
 * way to each, and their answers into the caller's order.
 */
#ifndef DGI_TRANSFER_H
#define DGI_TRANSFER_H

#include "link.h"
#include "split.h"

/* Rows of one request; ids count too where rows are small. */
#define DGI_REQUEST_BYTES (8U << 20)
#define DGI_REQUESTS_IN_FLIGHT 4 /* to one partition */

struct dgi_transfer {
	struct dgi_link *links; /* one a partition */
	uint32_t n_parts;
	const dg_tensor_info *tensor;
	const struct dgi_split *split;
	void *out;	  /* of a pull: rows in the caller's order */
	const void *data; /* of a push; NULL for a pull */
	struct dgi_deadline deadline;
	uint32_t timeout_ms; /* for messages */
};

/*
 * Does it. A lost connection is made again once, and what it had not answered is asked again, for a
 * pull; a push fails, since its fate is unknown. After a failure links with requests under way are
 * closed. Fails as dg_client_pull() and dg_client_push() say.
 */
dg_status dgi_transfer(const struct dgi_transfer *transfer, dg_error *err);

#endif
