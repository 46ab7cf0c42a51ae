/*
 * book.h -- making, encoding and decoding a partition book; see <distgraph/book.h>.
 */
#ifndef DGI_BOOK_H
#define DGI_BOOK_H

#include <distgraph/book.h>

/* What a book is made of; arrays and strings are copied. */
struct dgi_book_spec {
	uint32_t n_parts;
	uint16_t n_node_types;
	uint16_t n_edge_types;
	const char *const *node_types; /* names */
	const struct dgi_edge_type_spec {
		const char *relation;
		uint16_t src_type;
		uint16_t dst_type;
	} * edge_types;
	/* Rows that partition p owns of type t: [t * n_parts + p]. */
	const int64_t *node_counts;
	const int64_t *edge_counts;
};

/* Fails with INVALID (names, duplicate types, counts, limits), NOMEM. Gives a book to free. */
dg_status dgi_book_new(const struct dgi_book_spec *spec, dg_book **out, dg_error *err);
void dgi_book_free(dg_book *book);

/* Gives the bytes (docs/format.md), to be freed. */
dg_status dgi_book_encode(const dg_book *book, uint8_t **out, size_t *n, dg_error *err);
/* Fails with CORRUPT, NOMEM. */
dg_status dgi_book_decode(const void *data, size_t n, dg_book **out, dg_error *err);

/* Same types and same ranges? */
int dgi_book_equal(const dg_book *a, const dg_book *b);

#endif
