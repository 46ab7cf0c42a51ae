/*
 * check.c -- look over a store: what dgi_volume_check() finds in its files, and whether that is a
 * partition of the graph in its book.
 */
#include "book.h"
#include "check_outside.h"
#include "fail.h"
#include "outside_format.h"
#include "volume_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_KINDS (DG_GRAPH_HALO_NODES + 1) /* array kinds, and 0 for none */

/* The partition's share of one edge type, or of one node type for its halo nodes. */
struct share {
	int64_t n_edges; /* owned, and in the whole graph */
	int64_t n_edges_all;
	int64_t n_destinations; /* owned */
	int64_t n_sources_all;	/* in the whole graph */
	dg_id first_source;	/* owned: [first, end) */
	dg_id end_source;
	dg_id first_edge; /* owned: [first, end) */
	dg_id end_edge;
	/* Halo, by the arrays' descriptions; -1: there is no such array. */
	int64_t n_halo_nodes; /* of the type of destinations */
	int64_t n_halo_edges;
};

/* The array whose elements are coming. */
struct stream {
	uint16_t etype;
	uint8_t kind;	 /* 0: none */
	int64_t next;	 /* index of the element expected next */
	bool gap;	 /* some were damaged */
	bool told;	 /* one violation is enough */
	int64_t before;	 /* INDPTR, HALO_*: the element before */
	int64_t sum;	 /* OUT_DEGREES: of elements */
	int64_t n_inner; /* INDICES: owned sources */
};

struct checking {
	dg_finding_fn *found;
	void *found_context;
	dg_check_report *report;
	dg_book *book; /* NULL: none that can be used */
	uint32_t part;
	size_t n_types;	 /* edge or node types, whichever are more */
	uint8_t *arrays; /* per type: bits of the arrays that are there */
	uint8_t *dtypes; /* per type and array: dg_dtype of what is there and right, else 0 */
	int64_t *counts; /* per type and array: its elements, as described; -1: not there */
	struct stream stream;
	/* Owned edges from owned sources, of the edge type whose indices came last, all of them. */
	int32_t inner_etype; /* -1: none */
	int64_t n_inner;
	bool no_memory;
	struct dgi_check_outside outside;
};

/* --- Names and findings --- */

static const char *array_name(uint8_t kind)
{
	switch (kind) {
	case DG_GRAPH_INDPTR:
		return "indptr";
	case DG_GRAPH_INDICES:
		return "indices";
	case DG_GRAPH_OUT_DEGREES:
		return "out-degrees";
	case DG_GRAPH_HALO_INDPTR:
		return "halo indptr";
	case DG_GRAPH_HALO_INDICES:
		return "halo indices";
	case DG_GRAPH_HALO_EDGES:
		return "halo edges";
	case DG_GRAPH_HALO_NODES:
		return "halo nodes";
	default:
		return "unknown array";
	}
}

static const char *outside_name(uint8_t kind)
{
	static const char *const names[] = { "", "head", "values", "text", "hashes", "ids" };

	return kind >= DGI_OUTSIDE_HEAD && kind <= DGI_OUTSIDE_IDS ? names[kind] : "unknown array";
}

static void name_array(void *context, uint16_t etype, uint8_t kind, char out[DG_KEY_TEXT_BYTES])
{
	const struct checking *c = context;
	dg_edge_type type = { 0 };

	if (etype == DGI_OUTSIDE_ETYPE) {
		(void)snprintf(out, DG_KEY_TEXT_BYTES, "outside ids %s", outside_name(kind));
		return;
	}
	if (c->book && kind != DG_GRAPH_HALO_NODES)
		type = dg_book_edge_type(c->book, etype);
	if (kind == DG_GRAPH_HALO_NODES && c->book && dg_book_node_type(c->book, etype))
		(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s %s", dg_book_node_type(c->book, etype),
			       array_name(kind));
	else if (type.relation)
		(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s:%s:%s %s", type.src, type.relation,
			       type.dst, array_name(kind));
	else
		(void)snprintf(out, DG_KEY_TEXT_BYTES, "edge type %u %s", etype, array_name(kind));
}

static bool has_type(const struct checking *c, const dg_tensor_info *tensor)
{
	return c->book && dgi_book_starts(c->book, tensor->side, tensor->type, tensor->numbering);
}

static void name_tensor(void *context, const dg_tensor_info *tensor, char out[DG_KEY_TEXT_BYTES])
{
	const struct checking *c = context;

	if (has_type(c, tensor))
		dg_book_tensor_key(c->book, tensor, out);
	else
		(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s '%s' of type %u",
			       tensor->side == DG_NODE ? "node tensor" : "edge tensor",
			       tensor->name, tensor->type);
}

static void tell(struct checking *c, const char *file, const char *where, const dg_error *what)
{
	dg_finding finding = { .status = what->status };

	(void)snprintf(finding.where, sizeof finding.where, "%s: %s", file, where);
	memcpy(finding.what, what->text, sizeof finding.what);
	c->report->damaged++;
	if (c->found)
		c->found(c->found_context, &finding);
}

static void tell_array(struct checking *c, uint16_t etype, uint8_t kind, const dg_error *what)
{
	char name[DG_KEY_TEXT_BYTES];

	name_array(c, etype, kind, name);
	tell(c, DGI_GRAPH_FILE, name, what);
}

static void tell_outside(void *context, uint8_t kind, const dg_error *what)
{
	tell_array(context, DGI_OUTSIDE_ETYPE, kind, what);
}

/* --- The book --- */

static void take_book(struct checking *c, dg_book *book)
{
	size_t n = dg_book_n_edge_types(book);

	if (dg_book_n_node_types(book) > n)
		n = dg_book_n_node_types(book);
	c->n_types = n;
	c->arrays = calloc(n + 1, sizeof *c->arrays);
	c->dtypes = calloc(n + 1, N_KINDS * sizeof *c->dtypes);
	c->counts = calloc(n + 1, N_KINDS * sizeof *c->counts);
	c->no_memory = !c->arrays || !c->dtypes || !c->counts;
	for (size_t i = 0; !c->no_memory && i < n * N_KINDS; i++)
		c->counts[i] = -1;
	c->book = book;
}

static void on_book(void *context, const struct dgi_superblock *superblock, const uint8_t *bytes,
		    size_t n)
{
	struct checking *c = context;
	dg_book *book;
	dg_error what;
	dg_status st;

	if (c->book) /* a damaged file has it twice */
		return;
	st = dgi_book_decode(bytes, n, &book, &what);
	if (st == DG_NOMEM) {
		c->no_memory = true;
		return;
	}
	if (st) {
		tell(c, DGI_GRAPH_FILE, "book", &what);
		return;
	}
	if (dg_book_n_parts(book) != superblock->n_parts) {
		(void)dgi_fail(&what, DG_MISMATCH,
			       "%" PRIu32 " partitions, the store is part %" PRIu32 " of %" PRIu32,
			       dg_book_n_parts(book), superblock->part, superblock->n_parts);
		tell(c, DGI_GRAPH_FILE, "book", &what);
		dgi_book_free(book);
		return;
	}
	c->part = superblock->part;
	c->outside.book = book;
	c->outside.part = superblock->part;
	take_book(c, book);
}

/* Does the book have the type that such an array is of? */
static bool is_of_type(const struct checking *c, uint16_t type, uint8_t kind)
{
	if (kind == DG_GRAPH_HALO_NODES)
		return type < dg_book_n_node_types(c->book);
	return kind > 0 && kind < N_KINDS && type < dg_book_n_edge_types(c->book);
}

/* Of a node type: as of edges from it, with no edges. */
static struct share share_of_nodes(const struct checking *c, uint16_t type)
{
	struct share share = { .n_sources_all = dg_book_count(c->book, DG_NODE, type) };

	dg_book_range(c->book, DG_NODE, type, c->part, &share.first_source, &share.end_source);
	return share;
}

static struct share share_of_edges(const struct checking *c, uint16_t etype)
{
	dg_edge_type type = dg_book_edge_type(c->book, etype);
	struct share share = {
		.n_edges_all = dg_book_count(c->book, DG_EDGE, etype),
		.n_sources_all = dg_book_count(c->book, DG_NODE, type.src_type),
	};
	dg_id start, end;

	dg_book_range(c->book, DG_EDGE, etype, c->part, &start, &end);
	share.n_edges = end - start;
	share.first_edge = start;
	share.end_edge = end;
	share.n_halo_nodes = c->counts[N_KINDS * type.dst_type + DG_GRAPH_HALO_NODES];
	share.n_halo_edges = c->counts[N_KINDS * etype + DG_GRAPH_HALO_EDGES];
	dg_book_range(c->book, DG_NODE, type.dst_type, c->part, &start, &end);
	share.n_destinations = end - start;
	dg_book_range(c->book, DG_NODE, type.src_type, c->part, &share.first_source,
		      &share.end_source);
	return share;
}

static struct share share_of(const struct checking *c, uint16_t type, uint8_t kind)
{
	return kind == DG_GRAPH_HALO_NODES ? share_of_nodes(c, type) : share_of_edges(c, type);
}

/* --- Tensors --- */

static void on_tensor(void *context, const dg_tensor_info *tensor)
{
	struct checking *c = context;
	char name[DG_KEY_TEXT_BYTES];
	dg_id start = 0, end = 0;
	dg_error what;

	if (!c->book)
		return;
	name_tensor(c, tensor, name);
	if (!has_type(c, tensor)) {
		(void)dgi_fail(&what, DG_MISMATCH, "the book has no such type");
		tell(c, DGI_TENSORS_FILE, name, &what);
		return;
	}
	dg_book_tensor_range(c->book, tensor, c->part, &start, &end);
	if (tensor->n_rows == end - start)
		return;
	(void)dgi_fail(&what, DG_MISMATCH, "%" PRId64 " rows, want %" PRId64 " by the book",
		       tensor->n_rows, end - start);
	tell(c, DGI_TENSORS_FILE, name, &what);
}

/* --- Structure arrays: what they should be --- */

/* -1: any number. Halo nodes come behind the arrays of their number, so that of a later type is not
 * known yet: see check_halo_counts(). */
static int64_t elements_wanted(const struct share *share, uint8_t kind)
{
	switch (kind) {
	case DG_GRAPH_INDPTR:
		return share->n_destinations + 1;
	case DG_GRAPH_INDICES:
		return share->n_edges;
	case DG_GRAPH_OUT_DEGREES:
		return share->end_source - share->first_source;
	default:
		return -1;
	}
}

static void on_array(void *context, uint16_t etype, uint8_t kind, dg_dtype dtype, int64_t n)
{
	struct checking *c = context;
	struct share share;
	int64_t wanted;
	dg_error what;

	if (!c->book || c->no_memory)
		return;
	if (etype == DGI_OUTSIDE_ETYPE) {
		dgi_check_outside_array(&c->outside, kind, dtype, n, tell_outside, c);
		return;
	}
	if (!is_of_type(c, etype, kind)) {
		(void)dgi_fail(&what, DG_MISMATCH, "no type of the book has it");
		tell_array(c, etype, kind, &what);
		return;
	}
	c->arrays[etype] = (uint8_t)(c->arrays[etype] | 1U << kind);
	c->counts[N_KINDS * etype + kind] = n;
	share = share_of(c, etype, kind);
	wanted = elements_wanted(&share, kind);
	if (wanted < 0 || n == wanted) {
		c->dtypes[N_KINDS * etype + kind] = (uint8_t)dtype;
		return;
	}
	(void)dgi_fail(&what, DG_MISMATCH,
		       "%" PRId64 " elements of %s, want %" PRId64 " by the book", n,
		       dg_dtype_name(dtype), wanted);
	tell_array(c, etype, kind, &what);
}

static void tell_missing_arrays(struct checking *c)
{
	uint16_t n = dg_book_n_edge_types(c->book);
	dg_error what;

	(void)dgi_fail(&what, DG_CORRUPT, "missing");
	for (uint16_t etype = 0; etype < n; etype++)
		for (uint8_t kind = DG_GRAPH_INDPTR; kind <= DG_GRAPH_OUT_DEGREES; kind++)
			if (!(c->arrays[etype] >> kind & 1))
				tell_array(c, etype, kind, &what);
}

/* The three arrays of halo edges are there together, and as long as they say of each other. */
static void check_halo_counts(struct checking *c)
{
	for (uint16_t etype = 0; etype < dg_book_n_edge_types(c->book); etype++) {
		const int64_t *counts = &c->counts[N_KINDS * etype];
		struct share share = share_of_edges(c, etype);
		dg_error what;

		if (counts[DG_GRAPH_HALO_INDICES] == share.n_halo_edges &&
		    counts[DG_GRAPH_HALO_INDPTR] ==
			    (share.n_halo_edges < 0 ? -1 : share.n_halo_nodes + 1))
			continue;
		(void)dgi_fail(&what, DG_CORRUPT,
			       "%" PRId64 " row pointers and %" PRId64 " sources of %" PRId64
			       " halo edges to %" PRId64 " nodes (-1: no array)",
			       counts[DG_GRAPH_HALO_INDPTR], counts[DG_GRAPH_HALO_INDICES],
			       share.n_halo_edges, share.n_halo_nodes);
		tell_array(c, etype, DG_GRAPH_HALO_EDGES, &what);
	}
}

/* --- Structure arrays: what is in them --- */

static void violated(struct checking *c, int64_t index, int64_t value, const char *wanted,
		     int64_t bound)
{
	dg_error what;

	(void)dgi_fail(&what, DG_CORRUPT, "element %" PRId64 " is %" PRId64 ", want %s %" PRId64,
		       index, value, wanted, bound);
	tell_array(c, c->stream.etype, c->stream.kind, &what);
	c->stream.told = true;
}

static void see_pointer(struct checking *c, int64_t index, int64_t value, int64_t n_edges)
{
	if (index == 0 && value != 0)
		violated(c, index, value, "exactly", 0);
	else if (value < c->stream.before)
		violated(c, index, value, "at least", c->stream.before);
	else if (value > n_edges)
		violated(c, index, value, "at most", n_edges);
	c->stream.before = value;
}

static void see_degree(struct checking *c, const struct share *share, int64_t index, int64_t value)
{
	struct stream *s = &c->stream;

	if (value < 0 || value > share->n_edges_all - s->sum)
		violated(c, index, value, "0 or more, at most", share->n_edges_all - s->sum);
	else
		s->sum += value;
}

/* An id that ascends, below @n, and is none of the partition's own. */
static void see_halo_id(struct checking *c, int64_t index, int64_t value, int64_t n, dg_id first,
			dg_id end)
{
	if (index == 0 && value < 0)
		violated(c, index, value, "at least", 0);
	else if (index > 0 && value <= c->stream.before)
		violated(c, index, value, "above", c->stream.before);
	else if (value >= n)
		violated(c, index, value, "below", n);
	else if (value >= first && value < end)
		violated(c, index, value, "none of the partition's own, which begin at", first);
	c->stream.before = value;
}

/* Element @index of the stream's array. */
static void see_element(struct checking *c, const struct share *share, int64_t index, int64_t value)
{
	struct stream *s = &c->stream;

	switch (s->kind) {
	case DG_GRAPH_INDPTR:
		see_pointer(c, index, value, share->n_edges);
		break;
	case DG_GRAPH_HALO_INDPTR:
		see_pointer(c, index, value, share->n_halo_edges);
		break;
	case DG_GRAPH_INDICES:
	case DG_GRAPH_HALO_INDICES:
		if (value < 0 || value >= share->n_sources_all)
			violated(c, index, value, "0 or more, below", share->n_sources_all);
		s->n_inner += value >= share->first_source && value < share->end_source;
		break;
	case DG_GRAPH_HALO_EDGES:
		see_halo_id(c, index, value, share->n_edges_all, share->first_edge,
			    share->end_edge);
		break;
	case DG_GRAPH_HALO_NODES:
		see_halo_id(c, index, value, share->n_sources_all, share->first_source,
			    share->end_source);
		break;
	default:
		see_degree(c, share, index, value);
	}
}

/*
 * Owned sources have at least their edges that end here, and at most all edges that end elsewhere
 * on top.
 */
static void check_sum(struct checking *c, const struct share *share)
{
	const struct stream *s = &c->stream;
	bool counted = c->inner_etype == s->etype;
	int64_t least = counted ? c->n_inner : 0;
	int64_t most = share->n_edges_all - (counted ? share->n_edges - c->n_inner : 0);
	dg_error what;

	if (s->sum >= least && s->sum <= most)
		return;
	(void)dgi_fail(&what, DG_CORRUPT,
		       "they sum to %" PRId64 ", the edges want %" PRId64 " to %" PRId64, s->sum,
		       least, most);
	tell_array(c, s->etype, s->kind, &what);
}

/* After the last element of an array that came whole. */
static void check_end(struct checking *c, const struct share *share)
{
	struct stream *s = &c->stream;

	if (s->kind == DG_GRAPH_INDPTR && s->before != share->n_edges) {
		violated(c, s->next - 1, s->before, "the number of edges,", share->n_edges);
	} else if (s->kind == DG_GRAPH_HALO_INDPTR && s->before != share->n_halo_edges) {
		violated(c, s->next - 1, s->before, "the number of halo edges,",
			 share->n_halo_edges);
	} else if (s->kind == DG_GRAPH_INDICES) {
		c->inner_etype = s->etype;
		c->n_inner = s->n_inner;
	} else if (s->kind == DG_GRAPH_OUT_DEGREES) {
		check_sum(c, share);
	}
}

static void end_stream(struct checking *c)
{
	struct stream *s = &c->stream;
	struct share share;

	if (s->kind == 0)
		return;
	share = share_of(c, s->etype, s->kind);
	if (!s->gap && !s->told && s->next == c->counts[N_KINDS * s->etype + s->kind])
		check_end(c, &share);
	s->kind = 0;
}

static void on_elements(void *context, uint16_t etype, uint8_t kind, int64_t first, int64_t n,
			const void *elements)
{
	struct checking *c = context;
	struct stream *s = &c->stream;
	struct share share;
	const char *at = elements;
	dg_dtype dtype;

	if (c->book && etype == DGI_OUTSIDE_ETYPE)
		dgi_check_outside_elements(&c->outside, kind, first, n, elements, tell_outside, c);
	if (!c->book || c->no_memory || !is_of_type(c, etype, kind))
		return;
	dtype = (dg_dtype)c->dtypes[N_KINDS * etype + kind];
	if (dg_dtype_bytes(dtype) == 0)
		return;
	if (s->kind != kind || s->etype != etype) {
		end_stream(c);
		*s = (struct stream){ .etype = etype, .kind = kind };
	}
	share = share_of(c, etype, kind);
	s->gap |= first != s->next;
	s->next = first + n;
	for (int64_t i = 0; i < n && !s->told; i++) {
		int32_t narrow;
		int64_t value;

		if (dtype == DG_INT32) {
			memcpy(&narrow, at + i * 4, sizeof narrow);
			value = narrow;
		} else {
			memcpy(&value, at + i * 8, sizeof value);
		}
		see_element(c, &share, first + i, value);
	}
}

/* --- The whole --- */

dg_status dg_store_check(const char *path, int deep, dg_finding_fn *found, void *context,
			 dg_check_report *report, dg_error *err)
{
	struct checking c = {
		.found = found, .found_context = context, .report = report, .inner_etype = -1
	};
	const struct dgi_check_hooks hooks = {
		.context = &c,
		.book = on_book,
		.array = on_array,
		.elements = on_elements,
		.tensor = on_tensor,
		.name_array = name_array,
		.name_tensor = name_tensor,
		.found = found,
		.found_context = context,
	};
	dg_status st;

	*report = (dg_check_report){ 0 };
	st = dgi_volume_check(path, deep != 0, &hooks, report, err);
	if (!st && c.no_memory)
		st = dgi_fail_memory(err, "check");
	if (!st && c.book) {
		end_stream(&c);
		if (!c.no_memory) {
			tell_missing_arrays(&c);
			check_halo_counts(&c);
		}
	}
	dgi_check_outside_clear(&c.outside);
	dgi_book_free(c.book);
	free(c.arrays);
	free(c.dtypes);
	free(c.counts);
	return st;
}
