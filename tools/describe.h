/* describe.h -- what a tensor is, in words, for `ls` and `show`. */
#ifndef TOOL_DESCRIBE_H
#define TOOL_DESCRIBE_H

#include <distgraph/book.h>

#include <jansson.h>

/* Room for the text of any shape. */
#define SHAPE_TEXT_BYTES 192

/* The shape of a whole tensor, rows first: "(34, 8)", "(34,)". */
void describe_shape(const dg_tensor_info *tensor, char out[SHAPE_TEXT_BYTES]);

/* "commit", "interval:50", "memory". */
void describe_durability(const dg_tensor_info *tensor, char out[32]);

/* Payload bytes of all rows. */
uint64_t describe_bytes(const dg_tensor_info *tensor);

json_t *describe_json(const dg_book *book, const dg_tensor_info *tensor);

#endif
