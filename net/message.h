/*
 * message.h -- the messages, in one table, and what their bodies hold (docs/protocol.md).
 *
 * Pure functions from bytes to structs and back. A body to decode lies on an 8-byte boundary at
 * least; decoded pointers are lent by it.
 */
#ifndef DGI_MESSAGE_H
#define DGI_MESSAGE_H

#include "frame.h"

#include <distgraph/client.h>

#include <stdbool.h>

/* Rows of one pull or push. */
#define DGI_ROWS_MAX (4U << 20)

#define DGI_GROUP_BYTES_MIN 64 /* of a claim without names */
#define DGI_GROUP_REPLY_BYTES_MIN 10
#define DGI_GROUP_BYTES_MAX 4096
#define DGI_IDS_BATCH 4096 /* numbers of one question about outside ids */

#define DGI_PREFIX_BYTES 64 /* fields in front of the arrays of a pull or push */
#define DGI_HELLO_BYTES 128
#define DGI_WELCOME_BYTES 128
#define DGI_STATUS_BYTES 128
#define DGI_DESCRIBE_BYTES 8
#define DGI_PUSHED_BYTES 16
#define DGI_SESSION_BYTES 32
#define DGI_PARAMETERS_MAX 256 /* bytes, of a step */

/* Pushes of a session that are not answered yet lie less than this apart in number. */
#define DGI_PUSH_WINDOW 64
#define DGI_DESCRIBED_BYTES_MAX (1U << 20) /* one piece of the list of tensors */

/* name, number, text, request body min and max, reply body min and max */
#define DGI_MESSAGE_MAP(X) \
	X(HELLO, 1, "hello", DGI_HELLO_BYTES, DGI_HELLO_BYTES, DGI_WELCOME_BYTES, \
	  DGI_WELCOME_BYTES) \
	X(PING, 2, "ping", 0, 0, DGI_STATUS_BYTES, DGI_STATUS_BYTES) \
	X(DESCRIBE, 3, "describe", DGI_DESCRIBE_BYTES, DGI_DESCRIBE_BYTES, 8, \
	  DGI_DESCRIBED_BYTES_MAX) \
	X(PULL, 4, "pull", DGI_PREFIX_BYTES, DGI_PREFIX_BYTES + 8 * DGI_ROWS_MAX, \
	  DGI_PREFIX_BYTES, DGI_FRAME_BODY_BYTES_MAX) \
	X(PUSH, 5, "push", DGI_PREFIX_BYTES, DGI_FRAME_BODY_BYTES_MAX, DGI_PUSHED_BYTES, \
	  DGI_PUSHED_BYTES) \
	X(SESSION, 6, "session", DGI_SESSION_BYTES, DGI_SESSION_BYTES, 0, 0) \
	X(IDS, 7, "ids", DGI_PREFIX_BYTES, DGI_PREFIX_BYTES + 8 * DGI_IDS_BATCH, DGI_PREFIX_BYTES, \
	  DGI_FRAME_BODY_BYTES_MAX) \
	X(JOIN, 8, "join", DGI_GROUP_BYTES_MIN, DGI_GROUP_BYTES_MAX, DGI_GROUP_REPLY_BYTES_MIN, \
	  DGI_GROUP_BYTES_MAX) \
	X(BEAT, 9, "beat", DGI_GROUP_BYTES_MIN, DGI_GROUP_BYTES_MAX, DGI_GROUP_REPLY_BYTES_MIN, \
	  DGI_GROUP_BYTES_MAX) \
	X(BARRIER, 10, "barrier", DGI_GROUP_BYTES_MIN, DGI_GROUP_BYTES_MAX, \
	  DGI_GROUP_REPLY_BYTES_MIN, DGI_GROUP_BYTES_MAX) \
	X(LEAVE, 11, "leave", DGI_GROUP_BYTES_MIN, DGI_GROUP_BYTES_MAX, DGI_GROUP_REPLY_BYTES_MIN, \
	  DGI_GROUP_BYTES_MAX)

enum dgi_message_type {
#define DGI_MESSAGE_ENUM(name, number, text, least, most, reply_least, reply_most) \
	DGI_##name = number,
	DGI_MESSAGE_MAP(DGI_MESSAGE_ENUM)
#undef DGI_MESSAGE_ENUM
};

/* "pull", …; "?" for a number that is no message. */
const char *dgi_message_name(uint16_t type);

/*
 * Is the body of a request (or, with the reply flag and status OK, of a reply) within its type's
 * sizes? Fails with UNSUPPORTED (unknown type), PROTO.
 */
dg_status dgi_message_check(const struct dgi_frame *frame, dg_error *err);

/* Client to server, first of all. */
struct dgi_hello {
	uint16_t version_min; /* protocol versions the client speaks */
	uint16_t version_max;
	int32_t part;	       /* that the client expects here; -1: any */
	uint64_t capabilities; /* none defined yet: 0; unknown bits are ignored */
	dg_uuid cluster_uuid;  /* zero: any */
	dg_uuid store_uuid;    /* zero: any; else the store it met here before */
	dg_uuid session_uuid; /* whose pushes come on this connection; zero: pushes have no number */
	uint64_t incarnation; /* of the store when it met it last; 0: never */
	uint64_t durable;     /* log number up to which it was told that all is on disk */
	uint64_t attempt; /* number of this connection among the session's, rising; 0: not told */
};

void dgi_hello_encode(const struct dgi_hello *hello, uint8_t out[DGI_HELLO_BYTES]);
dg_status dgi_hello_decode(const void *body, size_t n, struct dgi_hello *out, dg_error *err);

/* The answer to a hello. */
struct dgi_welcome {
	uint16_t version; /* spoken from here on */
	uint32_t part;
	uint32_t n_parts;
	uint64_t capabilities;
	dg_uuid cluster_uuid;
	dg_uuid store_uuid;
	uint64_t incarnation;
	int64_t pid;
	uint64_t body_bytes_max; /* the server's limits */
	uint64_t rows_max;
	uint64_t log_number; /* of the newest write */
};

void dgi_welcome_encode(const struct dgi_welcome *welcome, uint8_t out[DGI_WELCOME_BYTES]);
dg_status dgi_welcome_decode(const void *body, size_t n, struct dgi_welcome *out, dg_error *err);

/* The answer to a ping; address and round trip are the client's own and stay untouched. */
void dgi_status_encode(const dg_server_status *status, uint8_t out[DGI_STATUS_BYTES]);
dg_status dgi_status_decode(const void *body, size_t n, dg_server_status *out, dg_error *err);

/* Asks for the descriptions of tensors from number @first of the list on. */
void dgi_describe_encode(uint32_t first, uint8_t out[DGI_DESCRIBE_BYTES]);
dg_status dgi_describe_decode(const void *body, size_t n, uint32_t *first, dg_error *err);

/*
 * Writes the answer: as many of @infos from @first on as fit @room bytes; returns the bytes
 * written. n_rows of a description counts the rows of the server's part.
 */
size_t dgi_described_encode(const dg_tensor_info *infos, size_t n_infos, uint32_t first, void *out,
			    size_t room);

/* An answer being read: @n descriptions of @total follow, each by dgi_described_next(). */
struct dgi_described {
	uint32_t total;
	uint32_t n;
	const uint8_t *at;
	size_t left;
};

dg_status dgi_described_decode(const void *body, size_t n, struct dgi_described *out,
			       dg_error *err);
dg_status dgi_described_next(struct dgi_described *described, dg_tensor_info *out, dg_error *err);

/* Rows wanted: a prefix, then n row numbers by the tensor's own numbering over the whole graph. */
struct dgi_pull {
	uint32_t tensor;
	size_t n;
	const dg_id *rows;
	/* Number of the push sent last on this connection, all of which are to be applied before the
	 * rows are read; 0: does not matter. */
	uint64_t after;
};

/* Writes the prefix from all fields but rows; the row numbers follow it as they lie in memory. */
void dgi_pull_encode(const struct dgi_pull *pull, uint8_t out[DGI_PREFIX_BYTES]);
dg_status dgi_pull_decode(const void *body, size_t n, struct dgi_pull *out, dg_error *err);

/* The answer: a prefix, then n rows. */
struct dgi_pulled {
	uint32_t row_bytes;
	size_t n;
	uint64_t log_number; /* newest write of the store when the rows were read */
};

void dgi_pulled_encode(const struct dgi_pulled *pulled, uint8_t out[DGI_PREFIX_BYTES]);
/* @body holds at least the prefix; @body_bytes is the length of the whole body. */
dg_status dgi_pulled_decode(const void *body, size_t body_bytes, struct dgi_pulled *out,
			    dg_error *err);

/* Operation of a push beside those of dg_operation: by a rule, for a whole row group (an optimizer's). */
#define DGI_PUSH_STEP 0U

#define DGI_PUSH_FILL 1U	 /* flag: one operand for a run of rows */
#define DGI_PUSH_WAIT_DURABLE 2U /* flag: answered once on disk, whatever the tensor's class */
#define DGI_PUSH_FLAGS 3U

/*
 * A change of rows: a prefix, n row numbers (of a fill two: the first row and how many), parameters of
 * a step, zeros up to a multiple of 64, n operands of row_bytes each (of a fill one).
 */
struct dgi_push {
	uint32_t tensor;
	uint16_t operation; /* a dg_operation, or DGI_PUSH_STEP */
	uint16_t rule;	    /* number of a step's rule, else 0 */
	uint32_t row_bytes;
	uint16_t flags; /* DGI_PUSH_FILL, … */
	uint16_t parameters_bytes;
	size_t n; /* row numbers */
	/* By a connection with a session, else 0: */
	uint64_t number; /* of this push in its session, from 1 on */
	uint64_t
		previous; /* number of the push sent before it on this connection; 0: it is the first */
	uint64_t floor; /* every push below this number has been answered, or never will be sent */
	const dg_id *rows;
	const void *parameters;
	const void *data;
};

/* Operands in a push of @n row numbers. */
size_t dgi_push_operands(size_t n, uint16_t flags);
/* Where the operands begin in the body of a push. */
size_t dgi_push_data_at(size_t n, uint16_t parameters_bytes);
/* Length of a push's or a pull answer's body; more than any limit where it is too long. */
uint64_t dgi_push_bytes(const struct dgi_push *push);
uint64_t dgi_pulled_bytes(size_t n, uint32_t row_bytes);

/* Writes the prefix from all fields but rows, parameters and data. */
void dgi_push_encode(const struct dgi_push *push, uint8_t out[DGI_PREFIX_BYTES]);
dg_status dgi_push_decode(const void *body, size_t n, struct dgi_push *out, dg_error *err);

/* The answer to a push. */
struct dgi_pushed {
	/* Of the write, or of a later one: once all up to it is on disk (durable of any reply of the
	 * same incarnation) the push need not be kept any more. */
	uint64_t log_number;
	bool repeat; /* it had been applied before; nothing was changed now */
};

void dgi_pushed_encode(const struct dgi_pushed *pushed, uint8_t out[DGI_PUSHED_BYTES]);
dg_status dgi_pushed_decode(const void *body, size_t n, struct dgi_pushed *out, dg_error *err);

enum dgi_session_operation {
	DGI_SESSION_CLOSE = 1,	/* the connection's own session: all is answered, forget it */
	DGI_SESSION_EXPIRE = 2, /* any session: refuse its pushes for ever */
};

/* The end of a session; the answer has no body. */
struct dgi_session_end {
	uint32_t operation; /* enum dgi_session_operation */
	dg_uuid session_uuid;
};

void dgi_session_end_encode(const struct dgi_session_end *end, uint8_t out[DGI_SESSION_BYTES]);
dg_status dgi_session_end_decode(const void *body, size_t n, struct dgi_session_end *out,
				 dg_error *err);

/*
 * Reads a reply whose status is not OK into @err and returns the status: the body is the text.
 * A reply of unknown status number is INVALID.
 */
dg_status dgi_error_decode(const struct dgi_frame *frame, const void *body, size_t n,
			   dg_error *err);

#endif
