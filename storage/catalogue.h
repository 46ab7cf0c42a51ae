/*
 * catalogue.h -- the tensors of tensors.mdb and where their chunks are: collected from the walk.
 */
#ifndef DGI_CATALOGUE_H
#define DGI_CATALOGUE_H

#include "key.h"
#include "rowcopy.h"
#include "step.h"

#include <stdbool.h>

/* Zero is an empty one. */
struct dgi_catalogue {
	dg_tensor_info *infos; /* ascending by id */
	struct dgi_rows *rows; /* of the same tensors */
	size_t n;
	size_t capacity;
	struct dgi_image *images; /* of every chunk, by table entry */
	size_t n_chunks;	  /* of all tensors */
	size_t n_found;		  /* chunks found so far */
	size_t at_tensor;	  /* where the next chunk is expected */
	uint64_t pages;		  /* that the chunks need */
};

/*
 * What the walk finds, in key order: descriptions, then chunks, exactly one image of each and of
 * the size that the description says. @file_bytes bounds what a description may claim.
 * Fails with CORRUPT (the text names tensor and rows), NOMEM.
 */
dg_status dgi_catalogue_add_tensor(struct dgi_catalogue *c, const struct dgi_key *key,
				   const dg_tensor_info *info, uint64_t file_bytes, dg_error *err);
dg_status dgi_catalogue_add_chunk(struct dgi_catalogue *c, const struct dgi_key *key,
				  uint64_t value_at, uint64_t value_bytes, dg_error *err);
/* All chunks there? Fails with CORRUPT. */
dg_status dgi_catalogue_finish(struct dgi_catalogue *c, dg_error *err);
void dgi_catalogue_clear(struct dgi_catalogue *c);

/* Sets *@index; false where there is no such tensor. */
bool dgi_catalogue_find(const struct dgi_catalogue *c, uint32_t tensor, size_t *index);
/* The tensor whose chunk stands at a table entry, as an index. */
size_t dgi_catalogue_of_entry(const struct dgi_catalogue *c, size_t entry);

#endif
