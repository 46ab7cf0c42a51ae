/*
 * distgraph/outside.h -- what the caller called the nodes, where that is not their number: sparse
 * integers or strings (*outside ids*), translated to relabelled type-wise ids and back.
 *
 * Edges, and nodes of types that came numbered from 0, have numbers for outside ids: integers. What a
 * graph was not given it does not have: the id of the i-th node of such a type is i.
 *
 * Ownership: a function that fills a dg_outside_ids gives it, to be cleared. Threads: as for the
 * client or the stores asked.
 */
#ifndef DISTGRAPH_OUTSIDE_H
#define DISTGRAPH_OUTSIDE_H

#include <distgraph/client.h>
#include <distgraph/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are stored on disk and sent on the wire: never reused. */
typedef enum dg_outside_form {
	DG_OUTSIDE_NUMBERS = 0,	 /* 0, 1, 2, … as the input numbered them; given as integers */
	DG_OUTSIDE_INTEGERS = 1, /* any 64-bit numbers, each once */
	DG_OUTSIDE_STRINGS = 2,	 /* UTF-8, each once */
} dg_outside_form;

#define DG_OUTSIDE_BYTES_MAX 65535 /* of one string */

/* A batch of outside ids. A zero one is empty. */
typedef struct dg_outside_ids {
	dg_outside_form form;
	size_t n;
	int64_t *integers; /* but for strings */
	uint64_t *offsets; /* of strings: the i-th is text[offsets[i]] to text[offsets[i + 1]], */
	char *text;	   /* without a NUL */
} dg_outside_ids;

DG_API void dg_outside_ids_clear(dg_outside_ids *ids);

/* How the nodes or edges of a type are called. Fails with NOTFOUND (no such type), and as a pull. */
DG_API dg_status dg_client_outside_form(dg_client *client, dg_side side, uint16_t type,
					dg_outside_form *form, dg_error *err);
/* What @ids were called, in their order. Fails with RANGE (no such id), NOTFOUND, and as a pull. */
DG_API dg_status dg_client_to_outside(dg_client *client, dg_side side, uint16_t type,
				      const dg_id *ids, size_t n, dg_outside_ids *out,
				      dg_error *err);
/*
 * The ids of what was called so, in order, repeats allowed. @ids of a form other than the type's
 * are refused with INVALID, integers for numbers excepted. Fails with NOTFOUND or RANGE (names
 * the first that there is not), and as a pull.
 */
DG_API dg_status dg_client_from_outside(dg_client *client, dg_side side, uint16_t type,
					const dg_outside_ids *ids, dg_id *out, dg_error *err);

/*
 * The same by the opened stores of all partitions, by number, without any server. A store that is
 * NULL is not asked: what only it knows fails with NOTFOUND. Every store knows the forms and what its
 * own nodes are called; to find a node by what it is called takes all of them.
 */
DG_API dg_status dg_stores_outside_form(dg_store *const *stores, uint32_t n_stores, dg_side side,
					uint16_t type, dg_outside_form *form, dg_error *err);
DG_API dg_status dg_stores_to_outside(dg_store *const *stores, uint32_t n_stores, dg_side side,
				      uint16_t type, const dg_id *ids, size_t n,
				      dg_outside_ids *out, dg_error *err);
DG_API dg_status dg_stores_from_outside(dg_store *const *stores, uint32_t n_stores, dg_side side,
					uint16_t type, const dg_outside_ids *ids, dg_id *out,
					dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
