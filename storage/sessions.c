/* sessions.c -- who pushed what already. Open addressing over the session ids, which are random. */
#include "sessions.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64
#define EXPIRED UINT64_MAX /* number of a tombstone: no push has it */

struct dgi_sessions {
	struct dgi_session_mark *slots; /* an id of zeros: empty */
	size_t capacity;		/* a power of two, at most 3/4 full */
	size_t n;
};

dg_status dgi_sessions_new(struct dgi_sessions **out, dg_error *err)
{
	struct dgi_sessions *sessions = calloc(1, sizeof *sessions);

	if (sessions)
		sessions->slots = calloc(CAPACITY_MIN, sizeof *sessions->slots);
	if (!sessions || !sessions->slots) {
		dgi_sessions_free(sessions);
		return dgi_fail_memory(err, "sessions");
	}
	sessions->capacity = CAPACITY_MIN;
	*out = sessions;
	return DG_OK;
}

void dgi_sessions_free(struct dgi_sessions *sessions)
{
	if (!sessions)
		return;
	free(sessions->slots);
	free(sessions);
}

size_t dgi_sessions_count(const struct dgi_sessions *sessions)
{
	return sessions->n;
}

static size_t home_of(const struct dgi_sessions *sessions, const dg_uuid *id)
{
	return (size_t)((dgi_get_u64(id->bytes) ^ dgi_get_u64(id->bytes + 8)) *
				UINT64_C(0x9e3779b97f4a7c15) >>
			20) &
	       (sessions->capacity - 1);
}

/* The slot that holds @id, or the empty one where it belongs. */
static struct dgi_session_mark *slot_of(const struct dgi_sessions *sessions, const dg_uuid *id)
{
	size_t at = home_of(sessions, id);

	while (!dgi_uuid_is_zero(&sessions->slots[at].id) &&
	       !dgi_uuid_equal(&sessions->slots[at].id, id))
		at = (at + 1) & (sessions->capacity - 1);
	return &sessions->slots[at];
}

static dg_status make_room(struct dgi_sessions *sessions, dg_error *err)
{
	struct dgi_sessions larger = { .capacity = sessions->capacity * 2, .n = sessions->n };

	if (sessions->n >= DGI_SESSIONS_MAX)
		return dgi_fail(err, DG_FULL, "sessions: %d are known, and no more can be",
				DGI_SESSIONS_MAX);
	if (sessions->n + 1 <= sessions->capacity / 4 * 3)
		return DG_OK;
	larger.slots = calloc(larger.capacity, sizeof *larger.slots);
	if (!larger.slots)
		return dgi_fail_memory(err, "sessions");
	for (size_t i = 0; i < sessions->capacity; i++)
		if (!dgi_uuid_is_zero(&sessions->slots[i].id))
			*slot_of(&larger, &sessions->slots[i].id) = sessions->slots[i];
	free(sessions->slots);
	*sessions = larger;
	return DG_OK;
}

/* The mark, as if all numbers below @floor had been seen. */
static struct dgi_session_mark raise_to(struct dgi_session_mark mark, uint64_t floor)
{
	if (floor > 0 && mark.number < floor - 1) {
		mark.number = floor - 1;
		mark.window = UINT64_MAX;
	}
	return mark;
}

static dg_status check_number(const struct dgi_session_mark *known, uint64_t number, dg_error *err)
{
	char text[DG_UUID_TEXT_BYTES];

	if (known->number == EXPIRED) {
		dgi_uuid_text(&known->id, text);
		return dgi_fail(err, DG_NOTFOUND, "session %s has expired", text);
	}
	if (number == 0 || number == EXPIRED)
		return dgi_fail(err, DG_INVALID, "push number %" PRIu64 ": want 1 or more%s",
				number, number ? ", and less" : "");
	if (number > known->number && number - known->number > DGI_SESSION_WINDOW)
		return dgi_fail(err, DG_INVALID,
				"push number %" PRIu64 ": the newest known is %" PRIu64
				", want at most %d more",
				number, known->number, DGI_SESSION_WINDOW);
	return DG_OK;
}

static dg_status make_room_for(struct dgi_sessions *sessions, const dg_uuid *id, dg_error *err)
{
	return dgi_uuid_is_zero(&slot_of(sessions, id)->id) ? make_room(sessions, err) : DG_OK;
}

dg_status dgi_sessions_look(struct dgi_sessions *sessions, const dg_uuid *id, uint64_t number,
			    uint64_t floor, enum dgi_push_novelty *novelty,
			    struct dgi_session_mark *mark, dg_error *err)
{
	const struct dgi_session_mark known = raise_to(*slot_of(sessions, id), floor);
	struct dgi_session_mark next = { .id = *id, .number = number };
	dg_status st;

	DGI_ASSERT(!dgi_uuid_is_zero(id));
	st = check_number(&known, number, err);
	if (st)
		return st;
	if (number > known.number) {
		uint64_t ahead = number - known.number;

		/* The newest so far becomes a bit, unless there was none. */
		next.window = ahead < 64 ? known.window << ahead : 0;
		if (known.number != 0)
			next.window |= UINT64_C(1) << (ahead - 1);
		*novelty = DGI_PUSH_NEW;
	} else {
		uint64_t behind = known.number - number; /* 0: the newest itself */
		uint64_t bit = behind && behind <= 64 ? UINT64_C(1) << (behind - 1) : 0;

		next.number = known.number;
		next.window = known.window | bit;
		*novelty = bit && !(known.window & bit) ? DGI_PUSH_NEW : DGI_PUSH_REPEAT;
	}
	st = make_room_for(sessions, id, err);
	if (st)
		return st;
	*mark = next;
	return DG_OK;
}

dg_status dgi_sessions_expire(struct dgi_sessions *sessions, const dg_uuid *id,
			      struct dgi_session_mark *mark, dg_error *err)
{
	dg_status st = make_room_for(sessions, id, err);

	if (!st)
		*mark = (struct dgi_session_mark){ *id, EXPIRED, UINT64_MAX };
	return st;
}

dg_status dgi_sessions_set(struct dgi_sessions *sessions, const struct dgi_session_mark *mark,
			   dg_error *err)
{
	struct dgi_session_mark *slot = slot_of(sessions, &mark->id);
	dg_status st;

	if (dgi_uuid_is_zero(&slot->id)) {
		st = make_room(sessions, err);
		if (st)
			return st;
		slot = slot_of(sessions, &mark->id);
		sessions->n++;
	}
	*slot = *mark;
	return DG_OK;
}

void dgi_sessions_remove(struct dgi_sessions *sessions, const dg_uuid *id)
{
	struct dgi_session_mark *slot = slot_of(sessions, id);
	size_t hole, at;

	if (dgi_uuid_is_zero(&slot->id) || slot->number == EXPIRED)
		return;
	sessions->n--;
	/* Close the hole, so that no search ends at it: move back what may not lie behind it. */
	hole = at = (size_t)(slot - sessions->slots);
	for (;;) {
		size_t home;

		at = (at + 1) & (sessions->capacity - 1);
		if (dgi_uuid_is_zero(&sessions->slots[at].id))
			break;
		home = home_of(sessions, &sessions->slots[at].id);
		if (((at - home) & (sessions->capacity - 1)) <
		    ((at - hole) & (sessions->capacity - 1)))
			continue;
		sessions->slots[hole] = sessions->slots[at];
		hole = at;
	}
	sessions->slots[hole] = (struct dgi_session_mark){ 0 };
}

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(dg_uuid));
}

dg_status dgi_sessions_encode(const struct dgi_sessions *sessions, uint8_t **out, size_t *n,
			      dg_error *err)
{
	size_t bytes = sessions->n * DGI_SESSION_MARK_BYTES;
	uint8_t *data = NULL;
	struct dgi_writer w;

	if (bytes) {
		data = malloc(bytes);
		if (!data)
			return dgi_fail_memory(err, "sessions");
	}
	w = dgi_writer_of(data, bytes);
	for (size_t i = 0; i < sessions->capacity; i++) {
		const struct dgi_session_mark *mark = &sessions->slots[i];

		if (dgi_uuid_is_zero(&mark->id))
			continue;
		dgi_write_bytes(&w, mark->id.bytes, sizeof mark->id.bytes);
		dgi_write_u64(&w, mark->number);
		dgi_write_u64(&w, mark->window);
	}
	DGI_ASSERT(!w.short_write && w.written == bytes);
	if (bytes)
		qsort(data, sessions->n, DGI_SESSION_MARK_BYTES, compare_ids);
	*out = data;
	*n = bytes;
	return DG_OK;
}

dg_status dgi_sessions_decode(struct dgi_sessions *sessions, const void *data, size_t n,
			      dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);

	if (n % DGI_SESSION_MARK_BYTES)
		return dgi_fail(err, DG_CORRUPT, "session table: %zu bytes, want a multiple of %d",
				n, DGI_SESSION_MARK_BYTES);
	while (r.left) {
		struct dgi_session_mark mark;
		dg_status st;

		dgi_read_bytes(&r, mark.id.bytes, sizeof mark.id.bytes);
		mark.number = dgi_read_u64(&r);
		mark.window = dgi_read_u64(&r);
		if (dgi_uuid_is_zero(&mark.id) || mark.number == 0)
			return dgi_fail(err, DG_CORRUPT,
					"session table: a session without id or number");
		st = dgi_sessions_set(sessions, &mark, err);
		if (st)
			return st;
	}
	return DG_OK;
}
