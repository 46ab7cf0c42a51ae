/*
 * volume_check.h -- look over the files of a store without opening it, and go on after damage.
 *
 * Storage knows bytes and numbers, not graphs: what it finds on the way goes to the caller, who
 * knows names and what the numbers should be.
 */
#ifndef DGI_VOLUME_CHECK_H
#define DGI_VOLUME_CHECK_H

#include "volume.h"

/*
 * The caller's side; no member is NULL. What is lent is lent for the call. The book comes first,
 * then descriptions of arrays, their elements, then descriptions of tensors: in this order as long
 * as the files are sound.
 */
struct dgi_check_hooks {
	void *context;
	void (*book)(void *context, const struct dgi_superblock *superblock, const uint8_t *book,
		     size_t n);
	void (*array)(void *context, uint16_t etype, uint8_t kind, dg_dtype dtype, int64_t n);
	/* Elements whose checksum holds, piece by piece in order; pieces that do not are left out.
	 * Only in a deep check. */
	void (*elements)(void *context, uint16_t etype, uint8_t kind, int64_t first, int64_t n,
			 const void *elements);
	void (*tensor)(void *context, const dg_tensor_info *tensor);
	/* What findings call them. */
	void (*name_array)(void *context, uint16_t etype, uint8_t kind,
			   char out[DG_KEY_TEXT_BYTES]);
	void (*name_tensor)(void *context, const dg_tensor_info *tensor,
			    char out[DG_KEY_TEXT_BYTES]);
	/* May be NULL. */
	dg_finding_fn *found;
	void *found_context;
};

/* See dg_store_check(). Adds to @report. */
dg_status dgi_volume_check(const char *path, bool deep, const struct dgi_check_hooks *hooks,
			   dg_check_report *report, dg_error *err);

#endif
