/*
 * key.h -- the keys of a store's records: one byte of kind, then big-endian fields, so that the
 * order of bytes is the order of numbers (docs/format.md).
 */
#ifndef DGI_KEY_H
#define DGI_KEY_H

#include <distgraph/error.h>

#include <stddef.h>
#include <stdint.h>

/* The first byte of a key, and the kind field of the record. Never reused. */
enum dgi_kind {
	DGI_KIND_SUPERBLOCK = 1,  /* what the file belongs to; first record of each file */
	DGI_KIND_IDENTITY = 2,	  /* journal.mdb: incarnation */
	DGI_KIND_BOOK = 3,	  /* graph.mdb: the partition book */
	DGI_KIND_ARRAY = 4,	  /* graph.mdb: dtype and length of a structure array */
	DGI_KIND_SEGMENT = 5,	  /* graph.mdb: a run of a structure array's elements */
	DGI_KIND_TENSOR = 6,	  /* tensors.mdb: catalogue entry */
	DGI_KIND_CHUNK = 7,	  /* tensors.mdb: an image of a run of a tensor's rows */
	DGI_KIND_SESSIONS = 8,	  /* tensors.mdb: a piece of the session table */
	DGI_KIND_BLOCK = 9,	  /* journal.mdb: a run of the journal's bytes */
	DGI_KIND_OPERATIONS = 10, /* tensors.mdb: a piece of the table of large operations */
};

/* A reader skips records of kinds from here on that it does not know; others it refuses. */
#define DGI_KIND_OPTIONAL 128

#define DGI_KEY_BYTES_MAX 21
#define DGI_KEY_TEXT_BYTES 96

/* Fields that a kind does not have are 0. */
struct dgi_key {
	uint8_t kind;
	uint8_t array;	  /* ARRAY, SEGMENT: dg_graph_array */
	uint16_t etype;	  /* ARRAY, SEGMENT */
	uint32_t segment; /* SEGMENT */
	uint32_t tensor;  /* TENSOR, CHUNK */
	uint64_t chunk;	  /* CHUNK */
	uint64_t log;	  /* CHUNK: log number of the image */
	uint64_t block;	  /* BLOCK */
	uint32_t piece;	  /* SESSIONS, OPERATIONS */
};

/* Returns the bytes written. */
size_t dgi_key_encode(const struct dgi_key *key, uint8_t out[DGI_KEY_BYTES_MAX]);

/*
 * Fails with CORRUPT (empty, unknown kind, another length than its kind has). A key of an optional
 * kind gives its kind alone.
 */
dg_status dgi_key_decode(const void *data, size_t n, struct dgi_key *out, dg_error *err);

/* What a message calls the record: "chunk 3 of tensor 7, image 12". */
void dgi_key_text(const struct dgi_key *key, char out[DGI_KEY_TEXT_BYTES]);

#endif
