/* book.c -- the partition book: a graph's types, and who owns which id. */
#include "book.h"

#include "check.h"
#include "fail.h"
#include "tensor_info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 int128; /* both compilers have it */

/* The ranges of one side, nodes or edges. */
struct ranges {
	uint16_t n_types;
	int64_t *internal;    /* [type * (n_parts + 1) + part]: where the part begins */
	int64_t *original;    /* the same for even cuts */
	int64_t *homogeneous; /* [part * n_types + type], and the end behind them */
	int64_t *parts;	      /* where each part's begin among them, and the end */
	bool tiles;	      /* they are ascending and without a gap */
	dg_dtype map_dtype;
};

struct dg_book {
	uint32_t n_parts;
	struct ranges sides[2];
	char **node_types;
	char **relations;
	dg_edge_type *edge_types; /* strings lie in the two above */
};

static const char *side_name(dg_side side)
{
	return side == DG_NODE ? "node" : "edge";
}

/* --- Checks of a spec --- */

static dg_status check_limits(const struct dgi_book_spec *spec, dg_error *err)
{
	uint32_t n_types = (uint32_t)spec->n_node_types + spec->n_edge_types;

	if (spec->n_parts < 1 || spec->n_parts > DG_PARTS_MAX)
		return dgi_fail(err, DG_INVALID, "%" PRIu32 " partitions, want 1 to %d",
				spec->n_parts, DG_PARTS_MAX);
	if (spec->n_node_types < 1 || spec->n_node_types > DG_NODE_TYPES_MAX)
		return dgi_fail(err, DG_INVALID, "%u node types, want 1 to %d", spec->n_node_types,
				DG_NODE_TYPES_MAX);
	if ((uint64_t)spec->n_parts * n_types > DGI_BOOK_RANGES_MAX)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu32 " partitions of %" PRIu32 " types, at most %u ranges",
				spec->n_parts, n_types, DGI_BOOK_RANGES_MAX);
	return DG_OK;
}

static dg_status check_edge_type(const struct dgi_book_spec *spec, uint16_t type, dg_error *err)
{
	const struct dgi_edge_type_spec *edge = &spec->edge_types[type];

	if (edge->src_type >= spec->n_node_types || edge->dst_type >= spec->n_node_types)
		return dgi_fail(err, DG_INVALID,
				"edge type %u: from node type %u to %u, the graph has %u", type,
				edge->src_type, edge->dst_type, spec->n_node_types);
	return dgi_name_check("edge type", edge->relation, err);
}

static dg_status check_counts(const struct dgi_book_spec *spec, dg_side side, dg_error *err)
{
	const int64_t *counts = side == DG_NODE ? spec->node_counts : spec->edge_counts;
	size_t n_types = side == DG_NODE ? spec->n_node_types : spec->n_edge_types;
	int64_t total = 0;

	for (size_t i = 0; i < n_types * spec->n_parts; i++)
		if (counts[i] < 0 || __builtin_add_overflow(total, counts[i], &total))
			return dgi_fail(err, DG_INVALID,
					"%s type %zu in partition %zu: %" PRId64
					" rows, want 0 or more and a total of 63 bits",
					side_name(side), i / spec->n_parts, i % spec->n_parts,
					counts[i]);
	return DG_OK;
}

static dg_status check_spec(const struct dgi_book_spec *spec, dg_error *err)
{
	dg_status st = check_limits(spec, err);

	for (uint16_t t = 0; !st && t < spec->n_node_types; t++)
		st = dgi_name_check("node type", spec->node_types[t], err);
	for (uint16_t t = 0; !st && t < spec->n_edge_types; t++)
		st = check_edge_type(spec, t, err);
	if (!st)
		st = check_counts(spec, DG_NODE, err);
	if (!st)
		st = check_counts(spec, DG_EDGE, err);
	return st;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_edge_types(const void *a, const void *b)
{
	const dg_edge_type *x = a;
	const dg_edge_type *y = b;

	if (x->src_type != y->src_type)
		return x->src_type < y->src_type ? -1 : 1;
	if (x->dst_type != y->dst_type)
		return x->dst_type < y->dst_type ? -1 : 1;
	return strcmp(x->relation, y->relation);
}

/* Two types of one name could not be told apart in a key. Sorts a copy, for there may be many. */
static dg_status check_distinct(const void *items, size_t n, size_t item_bytes,
				int (*compare)(const void *, const void *), size_t *twice,
				dg_error *err)
{
	char *sorted = malloc(n * item_bytes + 1);
	size_t i = 1;

	if (!sorted)
		return dgi_fail_memory(err, "partition book");
	if (n)
		memcpy(sorted, items, n * item_bytes);
	qsort(sorted, n, item_bytes, compare);
	while (i < n && compare(sorted + (i - 1) * item_bytes, sorted + i * item_bytes) != 0)
		i++;
	*twice = n;
	if (i < n)
		for (*twice = 0; compare((const char *)items + *twice * item_bytes,
					 sorted + i * item_bytes) != 0;)
			++*twice;
	free(sorted);
	return DG_OK;
}

static dg_status check_types_distinct(const dg_book *book, dg_error *err)
{
	size_t n_nodes = book->sides[DG_NODE].n_types;
	size_t n_edges = book->sides[DG_EDGE].n_types;
	size_t twice;
	dg_status st = check_distinct(book->node_types, n_nodes, sizeof *book->node_types,
				      compare_names, &twice, err);

	if (!st && twice < n_nodes)
		return dgi_fail(err, DG_INVALID, "node type '%s' is there twice",
				book->node_types[twice]);
	if (!st)
		st = check_distinct(book->edge_types, n_edges, sizeof *book->edge_types,
				    compare_edge_types, &twice, err);
	if (!st && twice < n_edges)
		return dgi_fail(err, DG_INVALID, "edge type '%s:%s:%s' is there twice",
				book->edge_types[twice].src, book->edge_types[twice].relation,
				book->edge_types[twice].dst);
	return st;
}

/* --- Making one --- */

static int copy_types(dg_book *book, const struct dgi_book_spec *spec)
{
	book->node_types = calloc(spec->n_node_types, sizeof *book->node_types);
	book->relations = calloc((size_t)spec->n_edge_types + 1, sizeof *book->relations);
	book->edge_types = calloc((size_t)spec->n_edge_types + 1, sizeof *book->edge_types);
	if (!book->node_types || !book->relations || !book->edge_types)
		return 0;
	book->sides[DG_NODE].n_types = spec->n_node_types;
	book->sides[DG_EDGE].n_types = spec->n_edge_types;
	for (size_t t = 0; t < spec->n_node_types; t++) {
		book->node_types[t] = strdup(spec->node_types[t]);
		if (!book->node_types[t])
			return 0;
	}
	for (size_t t = 0; t < spec->n_edge_types; t++) {
		const struct dgi_edge_type_spec *from = &spec->edge_types[t];

		book->relations[t] = strdup(from->relation);
		if (!book->relations[t])
			return 0;
		book->edge_types[t] = (dg_edge_type){
			.src = book->node_types[from->src_type],
			.relation = book->relations[t],
			.dst = book->node_types[from->dst_type],
			.src_type = from->src_type,
			.dst_type = from->dst_type,
		};
	}
	return 1;
}

static void sum_up(struct ranges *r, const int64_t *counts, size_t n_parts)
{
	int64_t sum = 0;

	for (size_t t = 0; t < r->n_types; t++) {
		int64_t *internal = r->internal + t * (n_parts + 1);
		int64_t *original = r->original + t * (n_parts + 1);

		for (size_t p = 0; p < n_parts; p++)
			internal[p + 1] = internal[p] + counts[t * n_parts + p];
		for (size_t p = 0; p <= n_parts; p++)
			original[p] =
				(int64_t)((int128)internal[n_parts] * (int128)p / (int128)n_parts);
	}
	for (size_t p = 0; p < n_parts; p++)
		for (size_t t = 0; t < r->n_types; t++) {
			r->homogeneous[p * r->n_types + t] = sum;
			sum += counts[t * n_parts + p];
		}
	r->homogeneous[n_parts * r->n_types] = sum;
	for (size_t p = 0; p <= n_parts; p++)
		r->parts[p] = r->homogeneous[p * r->n_types];
}

/* Ranges as they were given, which may lie anywhere. */
static void place_ranges(struct ranges *r, const int64_t *starts, size_t n_parts)
{
	r->tiles = !starts ||
		   memcmp(starts, r->homogeneous, n_parts * r->n_types * sizeof *starts) == 0;
	if (!r->tiles)
		memcpy(r->homogeneous, starts, n_parts * r->n_types * sizeof *starts);
}

static int make_ranges(struct ranges *r, const int64_t *counts, size_t n_parts)
{
	size_t n = r->n_types * (n_parts + 1) + 1;

	r->parts = calloc(n_parts + 1, sizeof *r->parts);
	if (!r->parts)
		return 0;
	r->internal = calloc(n, sizeof *r->internal);
	r->original = calloc(n, sizeof *r->original);
	r->homogeneous = calloc(n, sizeof *r->homogeneous);
	if (!r->internal || !r->original || !r->homogeneous)
		return 0;
	sum_up(r, counts, n_parts);
	return 1;
}

dg_status dgi_book_new(const struct dgi_book_spec *spec, dg_book **out, dg_error *err)
{
	dg_status st = check_spec(spec, err);
	dg_book *book;

	if (st)
		return st;
	book = calloc(1, sizeof *book);
	if (!book)
		return dgi_fail_memory(err, "partition book");
	book->n_parts = spec->n_parts;
	st = DG_NOMEM;
	if (!copy_types(book, spec) ||
	    !make_ranges(&book->sides[DG_NODE], spec->node_counts, spec->n_parts) ||
	    !make_ranges(&book->sides[DG_EDGE], spec->edge_counts, spec->n_parts)) {
		(void)dgi_fail_memory(err, "partition book");
		goto fail;
	}
	for (int side = 0; side < 2; side++) {
		place_ranges(&book->sides[side], spec->homogeneous[side], spec->n_parts);
		book->sides[side].map_dtype =
			spec->map_dtypes[side] ? spec->map_dtypes[side] : DG_INT64;
	}
	st = check_types_distinct(book, err);
	if (st)
		goto fail;
	*out = book;
	return DG_OK;
fail:
	dgi_book_free(book);
	return st;
}

void dg_book_free(dg_book *book)
{
	dgi_book_free(book);
}

void dgi_book_free(dg_book *book)
{
	if (!book)
		return;
	for (size_t t = 0; book->relations && t < book->sides[DG_EDGE].n_types; t++)
		free(book->relations[t]);
	for (size_t t = 0; book->node_types && t < book->sides[DG_NODE].n_types; t++)
		free(book->node_types[t]);
	free(book->edge_types);
	free(book->relations);
	free(book->node_types);
	for (size_t side = 0; side < DGI_COUNT_OF(book->sides); side++) {
		free(book->sides[side].internal);
		free(book->sides[side].original);
		free(book->sides[side].homogeneous);
		free(book->sides[side].parts);
	}
	free(book);
}

/* --- Questions --- */

uint32_t dg_book_n_parts(const dg_book *book)
{
	return book->n_parts;
}

uint16_t dg_book_n_node_types(const dg_book *book)
{
	return book->sides[DG_NODE].n_types;
}

uint16_t dg_book_n_edge_types(const dg_book *book)
{
	return book->sides[DG_EDGE].n_types;
}

const char *dg_book_node_type(const dg_book *book, uint16_t type)
{
	return type < book->sides[DG_NODE].n_types ? book->node_types[type] : NULL;
}

dg_edge_type dg_book_edge_type(const dg_book *book, uint16_t type)
{
	return type < book->sides[DG_EDGE].n_types ? book->edge_types[type] : (dg_edge_type){ 0 };
}

const int64_t *dgi_book_starts(const dg_book *book, dg_side side, uint16_t type,
			       dg_numbering numbering)
{
	const struct ranges *r;

	if (side != DG_NODE && side != DG_EDGE)
		return NULL;
	r = &book->sides[side];
	if (type >= r->n_types)
		return NULL;
	return (numbering == DG_ORIGINAL ? r->original : r->internal) +
	       (size_t)type * (book->n_parts + 1);
}

const int64_t *dgi_book_id_starts(const dg_book *book, dg_side side, uint16_t type)
{
	if (type != DG_ALL_TYPES || (side != DG_NODE && side != DG_EDGE))
		return dgi_book_starts(book, side, type, DG_INTERNAL);
	return book->sides[side].tiles ? book->sides[side].parts : NULL;
}

const int64_t *dgi_book_homogeneous(const dg_book *book, dg_side side, bool *tiles)
{
	const struct ranges *r = &book->sides[side == DG_EDGE];

	*tiles = r->tiles;
	return r->homogeneous;
}

uint16_t dgi_book_n_types(const dg_book *book, dg_side side)
{
	return book->sides[side == DG_EDGE].n_types;
}

dg_dtype dg_book_map_dtype(const dg_book *book, dg_side side)
{
	return book->sides[side == DG_EDGE].map_dtype;
}

int dg_book_is_homogeneous(const dg_book *book)
{
	return book->sides[DG_NODE].n_types == 1 && book->sides[DG_EDGE].n_types == 1;
}

/* Of all types: the parts' sums, which hold whether or not the ranges overlap. */
static const int64_t *count_starts(const dg_book *book, dg_side side, uint16_t type)
{
	if (type == DG_ALL_TYPES && (side == DG_NODE || side == DG_EDGE))
		return book->sides[side].parts;
	return dgi_book_starts(book, side, type, DG_INTERNAL);
}

int64_t dg_book_count(const dg_book *book, dg_side side, uint16_t type)
{
	const int64_t *starts = count_starts(book, side, type);

	return starts ? starts[book->n_parts] : 0;
}

static void range_of(const dg_book *book, const int64_t *starts, uint32_t part, dg_id *start,
		     dg_id *end)
{
	int known = starts && part < book->n_parts;

	*start = known ? starts[part] : 0;
	*end = known ? starts[part + 1] : 0;
}

void dg_book_range(const dg_book *book, dg_side side, uint16_t type, uint32_t part, dg_id *start,
		   dg_id *end)
{
	range_of(book, count_starts(book, side, type), part, start, end);
}

void dg_book_tensor_range(const dg_book *book, const dg_tensor_info *tensor, uint32_t part,
			  dg_id *start, dg_id *end)
{
	range_of(book, dgi_book_starts(book, tensor->side, tensor->type, tensor->numbering), part,
		 start, end);
}

void dg_book_homogeneous_range(const dg_book *book, dg_side side, uint16_t type, uint32_t part,
			       dg_id *start, dg_id *end)
{
	const struct ranges *r = &book->sides[side == DG_EDGE];
	int known = type < r->n_types && part < book->n_parts;
	size_t at = (size_t)part * r->n_types + type;

	dg_book_range(book, side, type, part, start, end);
	*end = known ? r->homogeneous[at] + (*end - *start) : 0;
	*start = known ? r->homogeneous[at] : 0;
}

dg_status dg_book_locate(const dg_book *book, const dg_tensor_info *tensor, dg_id row,
			 uint32_t *part, int64_t *local, dg_error *err)
{
	const int64_t *starts =
		dgi_book_starts(book, tensor->side, tensor->type, tensor->numbering);
	int64_t n = starts ? starts[book->n_parts] : 0;
	uint32_t owner;

	if (row < 0 || row >= n)
		return dgi_fail(err, DG_RANGE,
				"%s id %" PRId64 " of tensor '%s': the graph has %" PRId64,
				side_name(tensor->side), row, tensor->name, n);
	owner = dgi_starts_find(starts, book->n_parts, row);
	*part = owner;
	*local = row - starts[owner];
	return DG_OK;
}

void dg_book_local_offsets(const dg_book *book, dg_side side, uint32_t part, int64_t *out)
{
	uint16_t n_types = dgi_book_n_types(book, side);

	out[0] = 0;
	for (uint16_t t = 0; t < n_types; t++) {
		dg_id start, end;

		dg_book_range(book, side, t, part, &start, &end);
		out[t + 1] = out[t] + (end - start);
	}
}

static int same_ranges(const struct ranges *a, const struct ranges *b, size_t n_parts)
{
	size_t n = a->n_types * (n_parts + 1);

	return a->n_types == b->n_types &&
	       memcmp(a->internal, b->internal, n * sizeof(int64_t)) == 0;
}

int dgi_book_equal(const dg_book *a, const dg_book *b)
{
	if (a->n_parts != b->n_parts ||
	    !same_ranges(&a->sides[DG_NODE], &b->sides[DG_NODE], a->n_parts) ||
	    !same_ranges(&a->sides[DG_EDGE], &b->sides[DG_EDGE], a->n_parts))
		return 0;
	for (size_t t = 0; t < a->sides[DG_NODE].n_types; t++)
		if (strcmp(a->node_types[t], b->node_types[t]) != 0)
			return 0;
	for (size_t t = 0; t < a->sides[DG_EDGE].n_types; t++)
		if (compare_edge_types(&a->edge_types[t], &b->edge_types[t]) != 0)
			return 0;
	return 1;
}
