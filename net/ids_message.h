/*
 * ids_message.h -- the message about outside ids: what is asked of a partition and answered
 * (docs/protocol.md).
 *
 * Pure functions from bytes to structs and back, as in message.h.
 */
#ifndef DGI_IDS_MESSAGE_H
#define DGI_IDS_MESSAGE_H

#include "message.h"

#include <distgraph/outside.h>

enum dgi_ids_operation {
	DGI_IDS_ABOUT = 0, /* form and seed of a type; no numbers */
	DGI_IDS_OUTSIDE =
		1, /* numbers are relabelled ids the partition owns: what they are called */
	DGI_IDS_LOOKUP = 2, /* numbers are hashes of its share of the index: their ids, or -1 */
};

struct dgi_ids_request {
	uint16_t type; /* of nodes */
	uint16_t operation;
	size_t n;
	const int64_t *numbers;
};

/* Zero is an empty one. */
struct dgi_ids_answer {
	dg_outside_form form;
	uint64_t seed;
	size_t n; /* numbers answered: the first of those asked, all of them unless room ran out */
	bool strings;	  /* what follows are strings: */
	int64_t *numbers; /* n; of strings n + 1 offsets into text, the first 0, ascending */
	char *text;
	size_t text_bytes;
};

void dgi_ids_answer_clear(struct dgi_ids_answer *answer);

/* Writes the prefix from all fields but numbers, which follow it as they lie in memory. */
void dgi_ids_request_encode(const struct dgi_ids_request *request, uint8_t out[DGI_PREFIX_BYTES]);
/* Fails with PROTO. The numbers are lent by the body. */
dg_status dgi_ids_request_decode(const void *body, size_t n, struct dgi_ids_request *out,
				 dg_error *err);

size_t dgi_ids_answer_bytes(const struct dgi_ids_answer *answer);
/* @out has room for so many bytes. */
void dgi_ids_answer_encode(const struct dgi_ids_answer *answer, uint8_t *out);
/* Fails with PROTO, NOMEM. Gives an answer to clear. */
dg_status dgi_ids_answer_decode(const void *body, size_t n, struct dgi_ids_answer *out,
				dg_error *err);

#endif
