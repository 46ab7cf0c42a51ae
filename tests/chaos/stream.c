/* stream.c -- what a bad network does to one direction of a connection. */
#include "stream.h"

#include "bytes.h"
#include "frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES_AT 24    /* in a header */
#define DAMAGE_BYTES_MAX 12 /* less than any body, so that the header is full all the same */
#define KEPT_FRAME_BYTES_MAX 262144 /* longer ones are not lost, repeated or swapped */

enum place { PLACE_B, PLACE_H, PLACE_F };

static const struct {
	const char *text;
	enum place place;
} faults[CHAOS_FAULTS] = {
#define CHAOS_FAULT_ROW(name, text, place) { text, PLACE_##place },
	CHAOS_FAULT_MAP(CHAOS_FAULT_ROW)
#undef CHAOS_FAULT_ROW
};

const char *chaos_fault_name(enum chaos_fault fault)
{
	return faults[fault].text;
}

bool chaos_faults_parse(const char *text, uint32_t *out)
{
	*out = 0;
	while (*text) {
		size_t n = strcspn(text, ",");
		int i = 0;

		while (i < CHAOS_FAULTS &&
		       (strlen(faults[i].text) != n || memcmp(faults[i].text, text, n) != 0))
			i++;
		if (i == CHAOS_FAULTS)
			return false;
		*out |= UINT32_C(1) << i;
		text += n + (text[n] == ',');
	}
	return true;
}

void chaos_bytes_add(struct chaos_bytes *bytes, const void *data, size_t n)
{
	if (n == 0)
		return;
	if (bytes->n + n > bytes->room) {
		bytes->room = (bytes->n + n) * 2;
		bytes->data = realloc(bytes->data, bytes->room);
		if (!bytes->data)
			abort();
	}
	memcpy(bytes->data + bytes->n, data, n);
	bytes->n += n;
}

void chaos_bytes_drop(struct chaos_bytes *bytes, size_t n)
{
	bytes->n -= n;
	memmove(bytes->data, bytes->data + n, bytes->n);
}

/* A distance whose mean is @mean: faults fall as at random, some of them close together. */
static uint64_t draw_distance(struct chaos_stream *s, uint64_t mean)
{
	if (mean == 0)
		return UINT64_MAX;
	return 1 + (uint64_t)(-log(1 - dgi_rng_unit(&s->rng)) * (double)mean);
}

/* One of the plan's faults of these places; false where it has none. */
static bool draw_fault(struct chaos_stream *s, bool at_byte, enum chaos_fault *out)
{
	enum chaos_fault candidates[CHAOS_FAULTS];
	size_t n = 0;

	for (int i = 0; i < CHAOS_FAULTS; i++)
		if ((s->plan.faults >> i & 1) && (faults[i].place == PLACE_B) == at_byte)
			candidates[n++] = (enum chaos_fault)i;
	if (n == 0)
		return false;
	*out = candidates[dgi_rng_below(&s->rng, n)];
	return true;
}

void chaos_stream_init(struct chaos_stream *s, const struct chaos_plan *plan, uint64_t number)
{
	*s = (struct chaos_stream){ .plan = *plan, .rng = dgi_rng_of(plan->seed, number) };
	s->to_fault = draw_distance(s, plan->every_bytes);
	s->to_frame = draw_distance(s, plan->every_frames);
}

void chaos_stream_clear(struct chaos_stream *s)
{
	free(s->frame.data);
	free(s->late.data);
	*s = (struct chaos_stream){ .plan = s->plan };
}

/* Writes the header with some of its bytes left out, doubled, or in another order. */
static void damage(struct chaos_stream *s, struct chaos_bytes *out)
{
	const uint8_t *h = s->frame.data;
	size_t n = 1 + dgi_rng_below(&s->rng, DAMAGE_BYTES_MAX);
	size_t at = dgi_rng_below(&s->rng, DGI_FRAME_BYTES - 2 * n + 1);

	chaos_bytes_add(out, h, at);
	if (s->frame_fault == CHAOS_DUPLICATE)
		chaos_bytes_add(out, h + at, n);
	if (s->frame_fault == CHAOS_REORDER) {
		chaos_bytes_add(out, h + at + n, n);
		chaos_bytes_add(out, h + at, n);
		chaos_bytes_add(out, h + at + 2 * n, DGI_FRAME_BYTES - at - 2 * n);
		return;
	}
	if (s->frame_fault == CHAOS_DROP)
		at += n;
	chaos_bytes_add(out, h + at, DGI_FRAME_BYTES - at);
}

static bool is_kept(const struct chaos_stream *s)
{
	return s->is_frame_next && faults[s->frame_fault].place == PLACE_F;
}

/* The header is whole: decides what becomes of its frame. */
static void begin_frame(struct chaos_stream *s, struct chaos_bytes *out)
{
	s->frame_left = dgi_get_u64(s->frame.data + BODY_BYTES_AT);
	s->is_frame_next = --s->to_frame == 0;
	if (s->is_frame_next) {
		s->to_frame = draw_distance(s, s->plan.every_frames);
		s->is_frame_next = draw_fault(s, false, &s->frame_fault);
	}
	if (s->is_frame_next &&
	    (faults[s->frame_fault].place == PLACE_F ? s->frame_left > KEPT_FRAME_BYTES_MAX
						     : s->frame_left < DAMAGE_BYTES_MAX))
		s->is_frame_next = false;
	if (s->is_frame_next)
		s->counts[s->frame_fault]++;
	if (is_kept(s))
		return;
	if (s->is_frame_next)
		damage(s, out);
	else
		chaos_bytes_add(out, s->frame.data, s->frame.n);
}

/* The last byte of a frame has come. */
static void end_frame(struct chaos_stream *s, struct chaos_bytes *out)
{
	struct chaos_bytes swapped = s->late;

	s->late = (struct chaos_bytes){ 0 };
	if (is_kept(s) && s->frame_fault == CHAOS_SWAP_FRAMES) {
		s->late = s->frame;
		s->frame = (struct chaos_bytes){ 0 };
	} else if (is_kept(s) && s->frame_fault == CHAOS_REPEAT_FRAME) {
		chaos_bytes_add(out, s->frame.data, s->frame.n);
		chaos_bytes_add(out, s->frame.data, s->frame.n);
	}
	chaos_bytes_add(out, swapped.data, swapped.n);
	free(swapped.data);
	s->frame.n = 0;
	s->is_frame_next = false;
}

/* Takes up to @n bytes of what belongs together: of a header, or of a body. */
static size_t take_piece(struct chaos_stream *s, const uint8_t *data, size_t n,
			 struct chaos_bytes *out)
{
	if (s->frame.n < DGI_FRAME_BYTES) {
		size_t missing = DGI_FRAME_BYTES - s->frame.n;

		n = n < missing ? n : missing;
		chaos_bytes_add(&s->frame, data, n);
		if (n < missing)
			return n;
		begin_frame(s, out);
	} else {
		n = n < s->frame_left ? n : (size_t)s->frame_left;
		s->frame_left -= n;
		chaos_bytes_add(is_kept(s) ? &s->frame : out, data, n);
	}
	if (s->frame_left == 0)
		end_frame(s, out);
	return n;
}

size_t chaos_stream_take(struct chaos_stream *s, const uint8_t *data, size_t n,
			 struct chaos_bytes *out, enum chaos_fault *fault)
{
	*fault = CHAOS_FAULTS;
	n = n < s->to_fault ? n : (size_t)s->to_fault;
	n = take_piece(s, data, n, out);
	s->to_fault -= n;
	if (s->to_fault > 0)
		return n;
	s->to_fault = draw_distance(s, s->plan.every_bytes);
	if (draw_fault(s, true, fault)) {
		s->counts[*fault]++;
		/* A header begun is let out: a cut may fall within it. */
		if (s->frame.n < DGI_FRAME_BYTES && *fault != CHAOS_DELAY)
			chaos_bytes_add(out, s->frame.data, s->frame.n);
	}
	return n;
}
