/*
 * book.h -- making, encoding and decoding a partition book; see <distgraph/book.h>.
 */
#ifndef DGI_BOOK_H
#define DGI_BOOK_H

#include <distgraph/book.h>

#include <stdbool.h>

/* Partitions times types, nodes and edges together: a book of 16 MiB. */
#define DGI_BOOK_RANGES_MAX (1U << 21)

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
	dg_dtype map_dtypes
		[2]; /* of nodes and edges: INT32, INT64; 0: INT64. Not part of the codec */
	/* Where homogeneous ranges begin, [part * n_types + type]; NULL: they tile the ids. */
	const int64_t *homogeneous[2];
};

/* Fails with INVALID (names, duplicate types, counts, limits), NOMEM. Gives a book to free. */
dg_status dgi_book_new(const struct dgi_book_spec *spec, dg_book **out, dg_error *err);
void dgi_book_free(dg_book *book);

/* Gives the bytes (docs/format.md), to be freed. */
dg_status dgi_book_encode(const dg_book *book, uint8_t **out, size_t *n, dg_error *err);
/* Fails with CORRUPT, VERSION, NOMEM. */
dg_status dgi_book_decode(const void *data, size_t n, dg_book **out, dg_error *err);

/* Same types and same ranges? */
int dgi_book_equal(const dg_book *a, const dg_book *b);

/*
 * Where each partition's rows begin, n_parts + 1 ascending numbers of which the last is the row
 * count. Lent; NULL where the graph has no such type.
 */
const int64_t *dgi_book_starts(const dg_book *book, dg_side side, uint16_t type,
			       dg_numbering numbering);

/* The same for questions by id: of DG_ALL_TYPES too, by homogeneous ids, unless these overlap. */
const int64_t *dgi_book_id_starts(const dg_book *book, dg_side side, uint16_t type);
/*
 * Where homogeneous ranges begin: [part * n_types + type], and the end behind them. *tiles: they are
 * ascending and without a gap. Lent.
 */
const int64_t *dgi_book_homogeneous(const dg_book *book, dg_side side, bool *tiles);
uint16_t dgi_book_n_types(const dg_book *book, dg_side side);

/* The partition that owns @row, which lies in [0, starts[n_parts]). */
static inline uint32_t dgi_starts_find(const int64_t *starts, uint32_t n_parts, int64_t row)
{
	uint32_t part = 0;

	/* The last start that is not above row, without a branch that depends on the data. */
	for (uint32_t n = n_parts; n > 1;) {
		uint32_t half = n / 2;

		part += starts[part + half] <= row ? half : 0;
		n -= half;
	}
	return part;
}

#endif
