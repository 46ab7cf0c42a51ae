/*
 * source_ids.h -- ids of the nodes or edges that a tensor has rows for, translated by whatever a command
 * reads from: original numbers, relabelled ids, and what the input called them.
 */
#ifndef TOOL_SOURCE_IDS_H
#define TOOL_SOURCE_IDS_H

#include "source.h"

#include <distgraph/outside.h>

#include <stdio.h>

/* How many ids are translated at once. */
#define IDS_BATCH ((size_t)1 << 16)

/* In place, in a cluster: original numbers to relabelled ids, and back. */
dg_status source_to_internal(struct source *s, const dg_tensor_info *tensor, dg_id *ids, size_t n,
			     dg_error *err);
dg_status source_to_original(struct source *s, const dg_tensor_info *tensor, dg_id *ids, size_t n,
			     dg_error *err);

dg_status source_form(struct source *s, const dg_tensor_info *tensor, dg_outside_form *form,
		      dg_error *err);
/* What relabelled @ids were called; of one store, only its own. Gives ids to clear. */
dg_status source_to_outside(struct source *s, const dg_tensor_info *tensor, const dg_id *ids,
			    size_t n, dg_outside_ids *out, dg_error *err);
/* Relabelled ids of what was called so, in a cluster. */
dg_status source_from_outside(struct source *s, const dg_tensor_info *tensor,
			      const dg_outside_ids *ids, dg_id *out, dg_error *err);

/* A part of @ids, lent. */
dg_outside_ids outside_slice(const dg_outside_ids *ids, size_t first, size_t n);
/* The i-th as text, strings as they are. */
void outside_print(FILE *out, const dg_outside_ids *ids, size_t i);

#endif
