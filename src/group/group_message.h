/*
 * group_message.h -- what group.h describes, as the bodies of the messages join, beat, barrier and
 * leave (docs/protocol.md). Pure functions from bytes to structs and back.
 */
#ifndef DGI_GROUP_MESSAGE_H
#define DGI_GROUP_MESSAGE_H

#include "group.h"
#include "message.h"

#include <stddef.h>

/* The kind of a message of a group. */
bool dgi_group_kind_of(uint16_t type, enum dgi_group_kind *out);
uint16_t dgi_group_type_of(enum dgi_group_kind kind);

/* Writes the body of @request and returns its length. */
size_t dgi_group_request_encode(const struct dgi_group_request *request,
				uint8_t out[DGI_GROUP_BYTES_MAX]);
/*
 * Sets @claim, which @out lends, and scope and barrier of @out; kind, token and deadline stay
 * untouched. A place that is given is one of a group of that size. Fails with PROTO.
 */
dg_status dgi_group_request_decode(const void *body, size_t n, struct dgi_group_claim *claim,
				   struct dgi_group_request *out, dg_error *err);

/* Of an answer whose status is OK; another is answered as any error. @size is the group's. */
size_t dgi_group_answer_encode(const struct dgi_group_answer *answer, uint32_t size,
			       uint8_t out[DGI_GROUP_BYTES_MAX]);
/* Sets place and text; kind and status stay untouched. Fails with PROTO. */
dg_status dgi_group_answer_decode(const void *body, size_t n, uint32_t size,
				  struct dgi_group_answer *out, dg_error *err);

#endif
