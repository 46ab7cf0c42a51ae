/*
 * distgraph/error.h -- how every fallible function reports failure.
 *
 * A fallible function returns a dg_status and takes, as its last parameter, a dg_error that it
 * fills in on failure only. Pass NULL when the status is enough. The library never prints, exits
 * or aborts because of the world's mistakes.
 *
 * Threads: any thread.
 */
#ifndef DISTGRAPH_ERROR_H
#define DISTGRAPH_ERROR_H

#include <distgraph/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers travel on the wire (docs/protocol.md) and are never reused. */
#define DG_STATUS_MAP(X) \
	X(OK, 0, "success") \
	X(NOMEM, 1, "out of memory") \
	X(INVALID, 2, "invalid argument") \
	X(NOTFOUND, 3, "not found") \
	X(EXISTS, 4, "already exists") \
	X(FULL, 5, "no space left") \
	X(IO, 6, "input/output error") \
	X(CORRUPT, 7, "stored data is damaged") \
	X(VERSION, 8, "format or protocol version not supported") \
	X(PROTO, 9, "malformed message") \
	X(CLOSED, 10, "connection closed") \
	X(TIMEOUT, 11, "timed out") \
	X(BUSY, 12, "busy") \
	X(RANGE, 13, "out of range") \
	X(MISMATCH, 14, "does not belong together") /* another UUID, part, dtype or shape */ \
	X(DENIED, 15, "permission denied") \
	X(CANCELLED, 16, "cancelled") \
	X(UNSUPPORTED, 17, "not supported")

typedef enum dg_status {
#define DG_STATUS_ENUM(name, number, text) DG_##name = number,
	DG_STATUS_MAP(DG_STATUS_ENUM)
#undef DG_STATUS_ENUM
} dg_status;

#define DG_ERROR_TEXT_BYTES 508

/* Plain data: copy it, send it, keep it. Nothing to free. */
typedef struct dg_error {
	dg_status status;
	char text[DG_ERROR_TEXT_BYTES]; /* NUL-terminated, lower case, one line */
} dg_error;

/* The text of a status number; never NULL, also for numbers this version does not know. */
DG_API const char *dg_status_text(dg_status status);

#ifdef __cplusplus
}
#endif

#endif
