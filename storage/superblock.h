/*
 * superblock.h -- the payload of the first record of each file, and which formats this program
 * reads and writes.
 */
#ifndef DGI_SUPERBLOCK_H
#define DGI_SUPERBLOCK_H

#include "volume.h"

#define DGI_FORMAT_VERSION 1 /* the newest format this program reads and writes */
#define DGI_SUPERBLOCK_BYTES 72

/* Feature bits this program knows. */
#define DGI_FEATURES_READ_ONLY UINT64_C(0)
#define DGI_FEATURES_INCOMPATIBLE DGI_FEATURE_OUTSIDE_IDS

void dgi_superblock_encode(const struct dgi_superblock *superblock,
			   uint8_t out[DGI_SUPERBLOCK_BYTES]);

/*
 * Reads a payload of @n bytes; later versions may have more than we know. Fails with CORRUPT
 * (short, no UUID, a part that its number of parts does not have).
 */
dg_status dgi_superblock_decode(const void *data, size_t n, struct dgi_superblock *out,
				dg_error *err);

/* May this program read it, or, with @writable, write it? Fails with VERSION. */
dg_status dgi_superblock_check(const struct dgi_superblock *superblock, bool writable,
			       dg_error *err);

/*
 * Do two files belong to one store? @file is where @b was found. Fails with MISMATCH.
 */
dg_status dgi_superblock_match(const struct dgi_superblock *a, const struct dgi_superblock *b,
			       const char *file, dg_error *err);

#endif
