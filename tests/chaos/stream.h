/*
 * stream.h -- what a bad network does to one direction of a connection: bytes in, bytes out, with
 * faults drawn from a seed. Pure: no socket, no clock.
 *
 * Two kinds of fault. Where bytes stay what they are, as TCP and Unix sockets promise, anything may
 * happen at any byte: they come late, stop coming, or come to an end. A stream whose bytes were
 * changed is a broken stream: it is changed within the header of a frame, where the check is
 * that must notice; bodies have none. Whole frames lost, repeated or out of order are what no
 * stream does, but what a client that resends, or a relay that does, may bring about.
 */
#ifndef CHAOS_STREAM_H
#define CHAOS_STREAM_H

#include "rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, text, place: B, at any byte; H, in a header; F, a whole frame */
#define CHAOS_FAULT_MAP(X) \
	X(DELAY, "delay", B)	       /* bytes from here on come later */ \
	X(CUT, "cut", B)	       /* the connection ends here, with a reset or without */ \
	X(HALF_CLOSE, "half-close", B) /* this direction ends, the other goes on for a while */ \
	X(ONE_WAY, "one-way", B)       /* nothing more comes this way, and nobody is told */ \
	X(DROP, "drop", H)	       /* a few bytes are left out */ \
	X(DUPLICATE, "duplicate", H)   /* a few bytes come twice */ \
	X(REORDER, "reorder", H)       /* a few bytes change places with as many behind them */ \
	X(LOSE_FRAME, "lose-frame", F) /* the frame is left out */ \
	X(REPEAT_FRAME, "repeat-frame", F) /* it comes twice */ \
	X(SWAP_FRAMES, "swap-frames", F)   /* it comes after the next */

enum chaos_fault {
#define CHAOS_FAULT_ENUM(name, text, place) CHAOS_##name,
	CHAOS_FAULT_MAP(CHAOS_FAULT_ENUM)
#undef CHAOS_FAULT_ENUM
		CHAOS_FAULTS
};

const char *chaos_fault_name(enum chaos_fault fault);
/* "cut,drop" to a set of bits; false for a name that is none. */
bool chaos_faults_parse(const char *text, uint32_t *out);

struct chaos_plan {
	uint64_t seed;
	uint32_t faults;       /* a bit each */
	uint64_t every_bytes;  /* of mean distance between faults at a byte */
	uint64_t every_frames; /* … between faults of frames and in headers */
};

/* A growing run of bytes. */
struct chaos_bytes {
	uint8_t *data;
	size_t n, room;
};

void chaos_bytes_add(struct chaos_bytes *bytes, const void *data, size_t n);
/* Forgets the first @n. */
void chaos_bytes_drop(struct chaos_bytes *bytes, size_t n);

struct chaos_stream {
	struct chaos_plan plan;
	struct dgi_rng rng;
	uint64_t to_fault;  /* bytes until the next fault at a byte */
	uint64_t to_frame;  /* frames until the next of the others */
	bool is_frame_next; /* the frame being read has one: */
	enum chaos_fault frame_fault;
	uint64_t frame_left;	  /* bytes of a body still to come */
	struct chaos_bytes frame; /* header so far, or a frame that is kept until it is whole */
	struct chaos_bytes late;  /* a frame that waits for the next */
	uint64_t counts[CHAOS_FAULTS];
};

/* Direction number @number of a proxy; no two have the same. */
void chaos_stream_init(struct chaos_stream *stream, const struct chaos_plan *plan, uint64_t number);
void chaos_stream_clear(struct chaos_stream *stream);

/*
 * Takes some of @n bytes, at least one, and appends what becomes of them to @out. Returns how many
 * were taken. Where a fault at a byte comes behind them, *fault says which, else CHAOS_FAULTS.
 */
size_t chaos_stream_take(struct chaos_stream *stream, const uint8_t *data, size_t n,
			 struct chaos_bytes *out, enum chaos_fault *fault);

#endif
