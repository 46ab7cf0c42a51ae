/* What net/inbox.c and net/outbox.c promise: however bytes are cut, the same messages come out. */
#include "test.h"

#include "inbox.h"
#include "outbox.h"
#include "rng.h"

#include <stdlib.h>
#include <string.h>

static struct dgi_pool pool;

static int make_pool(void **state)
{
	(void)state;
	pool = dgi_pool_of(1 << 20);
	return 0;
}

static int clear_pool(void **state)
{
	(void)state;
	dgi_pool_clear(&pool);
	return 0;
}

static const size_t lengths[] = { 0, 1, 63, 64, 65, 0, 4032, 4096, 4097, 20000, 3 };

#define N_MESSAGES (sizeof lengths / sizeof *lengths)

static uint8_t byte_of(uint64_t id, size_t i)
{
	return (uint8_t)(id * 31 + i * 7 + i / 256);
}

/* The stream of messages 1 to N_MESSAGES, to be freed. */
static uint8_t *stream_new(size_t *n)
{
	uint8_t *stream = malloc(1 << 20), *at = stream;

	for (size_t m = 0; m < N_MESSAGES; m++) {
		struct dgi_frame frame = {
			.version = 1, .type = 4, .request_id = m + 1, .body_bytes = lengths[m]
		};

		dgi_frame_encode(&frame, at);
		at += DGI_FRAME_BYTES;
		for (size_t i = 0; i < lengths[m]; i++)
			*at++ = byte_of(m + 1, i);
	}
	*n = (size_t)(at - stream);
	return stream;
}

static void expect_message(const struct dgi_message *m, uint64_t id, const uint8_t *tail)
{
	size_t n = (size_t)m->frame.body_bytes;

	assert_int_equal(m->frame.request_id, id);
	assert_int_equal(n, lengths[id - 1]);
	assert_int_equal((uintptr_t)m->body % 64, 0);
	for (size_t i = 0; i < n; i++)
		if ((i < m->head_bytes ? m->body[i] : tail[i - m->head_bytes]) != byte_of(id, i))
			fail_msg("message %d, byte %d", (int)id, (int)i);
}

/* Puts @n bytes where the inbox has room; returns how many it took. */
static size_t feed(struct dgi_inbox *in, const uint8_t *bytes, size_t n)
{
	struct iovec room[DGI_INBOX_ROOM_MAX];
	int n_rooms = dgi_inbox_room(in, room);
	size_t fed = 0;

	for (int i = 0; i < n_rooms && fed < n; i++) {
		size_t piece = n - fed < room[i].iov_len ? n - fed : room[i].iov_len;

		memcpy(room[i].iov_base, bytes + fed, piece);
		fed += piece;
	}
	dgi_inbox_filled(in, fed);
	return fed;
}

/* Takes all messages that are there; returns the id of the last. */
static uint64_t take_all(struct dgi_inbox *in, uint64_t last, const uint8_t *tail)
{
	for (;;) {
		enum dgi_inbox_answer answer;
		struct dgi_message m;
		dg_error err = { 0 };

		assert_ok(dgi_inbox_next(in, &answer, &m, &err), &err);
		if (answer != DGI_INBOX_MESSAGE)
			return last;
		expect_message(&m, ++last, tail);
		dgi_message_clear(&pool, &m);
	}
}

static void a_stream_cut_anywhere_gives_the_same_messages(void **state)
{
	struct dgi_inbox *in = malloc(sizeof *in);
	size_t n;
	uint8_t *stream = stream_new(&n);

	(void)state;
	for (size_t cut = 0; cut <= n; cut += cut < 9000 ? 1 : 37) {
		uint64_t last = 0;

		dgi_inbox_init(in, &pool, DGI_FRAME_BODY_BYTES_MAX);
		for (size_t at = 0; at < n;) {
			size_t piece = at < cut ? cut - at : n - at;

			at += feed(in, stream + at, piece);
			last = take_all(in, last, NULL);
		}
		assert_int_equal(last, N_MESSAGES);
		assert_false(dgi_inbox_is_amid(in));
		dgi_inbox_clear(in);
	}
	free(stream);
	free(in);
}

static void a_stream_of_pieces_of_any_length_gives_the_same_messages(void **state)
{
	struct dgi_inbox *in = malloc(sizeof *in);
	size_t n;
	uint8_t *stream = stream_new(&n);

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct dgi_rng rng = dgi_rng_of(seed, 1);
		uint64_t last = 0, longest = seed == 0 ? 1 : 1 + dgi_rng_below(&rng, 6000);

		dgi_inbox_init(in, &pool, DGI_FRAME_BODY_BYTES_MAX);
		for (size_t at = 0; at < n;) {
			size_t piece = 1 + (size_t)dgi_rng_below(&rng, longest);

			at += feed(in, stream + at, piece < n - at ? piece : n - at);
			if (dgi_rng_below(&rng, 3))
				last = take_all(in, last, NULL);
		}
		last = take_all(in, last, NULL);
		if (last != N_MESSAGES)
			fail_msg("seed %d: %d messages", (int)seed, (int)last);
		dgi_inbox_clear(in);
	}
	free(stream);
	free(in);
}

/* A place that splits each body: 64 bytes of its own, the rest elsewhere. */
static bool split_place(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	if (frame->body_bytes > 64)
		*out = (struct dgi_place){ .head_bytes = 64, .tail = context };
	return true;
}

static bool tail_place(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	(void)frame;
	*out = (struct dgi_place){ .tail = context };
	return true;
}

static void bodies_are_received_into_place(void **state)
{
	static dgi_place_fn *const places[] = { split_place, tail_place };
	struct dgi_inbox *in = malloc(sizeof *in);
	uint8_t *tail = malloc(1 << 16);
	size_t n;
	uint8_t *stream = stream_new(&n);

	(void)state;
	for (size_t p = 0; p < 2; p++)
		for (size_t piece = 1; piece <= 64; piece++) { /* no two messages at once */
			uint64_t last = 0;

			dgi_inbox_init(in, &pool, DGI_FRAME_BODY_BYTES_MAX);
			in->place = places[p];
			in->place_context = tail;
			for (size_t at = 0, taken = 0; at < n; at += taken) {
				taken = feed(in, stream + at, piece < n - at ? piece : n - at);
				last = take_all(in, last, tail);
			}
			assert_int_equal(last, N_MESSAGES);
			dgi_inbox_clear(in);
		}
	free(stream);
	free(tail);
	free(in);
}

static bool allowed_place(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	(void)frame;
	(void)out;
	return *(bool *)context;
}

static void a_message_held_back_comes_when_it_is_allowed(void **state)
{
	struct dgi_inbox *in = malloc(sizeof *in);
	enum dgi_inbox_answer answer;
	struct dgi_message m;
	bool allowed = false;
	dg_error err = { 0 };
	size_t n, fed = 0, more;
	uint8_t *stream = stream_new(&n);

	(void)state;
	dgi_inbox_init(in, &pool, DGI_FRAME_BODY_BYTES_MAX);
	in->place = allowed_place;
	in->place_context = &allowed;
	while ((more = feed(in, stream + fed, n - fed)) > 0)
		fed += more;
	assert_int_equal(fed, DGI_INBOX_STAGE_BYTES); /* no more is taken in meanwhile */
	for (int i = 0; i < 2; i++) {
		assert_ok(dgi_inbox_next(in, &answer, &m, &err), &err);
		assert_int_equal(answer, DGI_INBOX_HELD_BACK);
	}
	allowed = true;
	assert_int_equal(take_all(in, 0, NULL), 6);
	dgi_inbox_clear(in);
	free(stream);
	free(in);
}

static void a_header_that_is_wrong_ends_the_stream(void **state)
{
	struct dgi_inbox *in = malloc(sizeof *in);
	struct dgi_frame frame = { .version = 1, .type = 1, .body_bytes = 101 };
	uint8_t header[DGI_FRAME_BYTES];
	enum dgi_inbox_answer answer;
	struct dgi_message m;
	dg_error err = { 0 };

	(void)state;
	dgi_frame_encode(&frame, header);
	dgi_inbox_init(in, &pool, 100);
	assert_int_equal(feed(in, header, sizeof header), sizeof header);
	assert_fails(dgi_inbox_next(in, &answer, &m, &err), DG_PROTO, &err, "at most 100");
	dgi_inbox_init(in, &pool, 101);
	assert_int_equal(feed(in, header, sizeof header), sizeof header);
	assert_ok(dgi_inbox_next(in, &answer, &m, &err), &err);
	assert_int_equal(answer, DGI_INBOX_HUNGRY);
	assert_true(dgi_inbox_is_amid(in));
	dgi_inbox_clear(in);
	free(in);
}

/* --- The other way --- */

static void what_is_queued_goes_out_in_order_however_it_is_cut(void **state)
{
	static const uint8_t lent_bytes[] = "lent";
	struct iovec lent[] = { { (void *)(uintptr_t)lent_bytes, 4 },
				{ NULL, 0 },
				{ (void *)(uintptr_t)lent_bytes, 2 } };
	uint8_t wanted[1000], out[1000];

	(void)state;
	for (size_t piece = 1; piece < 300; piece++) {
		struct dgi_outbox box;
		size_t n = 0, at = 0;
		dg_error err = { 0 };

		dgi_outbox_init(&box, &pool);
		for (uint64_t id = 1; id <= 3; id++) {
			struct dgi_frame frame = { .version = 1, .type = 2, .request_id = id };
			struct dgi_body body = { .copied = "copied", .copied_bytes = 6 };

			if (id == 2) {
				body.block = dgi_pool_get(&pool, 5);
				body.block_bytes = 5;
				memcpy(body.block, "block", 5);
				body.lent = lent;
				body.n_lent = 3;
			}
			assert_ok(dgi_outbox_put(&box, frame, id == 3 ? NULL : &body, &err), &err);
			frame.body_bytes = id == 1 ? 6 : id == 2 ? 17 : 0;
			dgi_frame_encode(&frame, wanted + n);
			memcpy(wanted + n + 64, "copiedblocklentle", (size_t)frame.body_bytes);
			n += 64 + (size_t)frame.body_bytes;
		}
		assert_int_equal(box.bytes, n);
		assert_int_equal(dgi_outbox_head_bytes(&box), 70);
		while (box.first) {
			struct iovec runs[3];
			int n_runs = dgi_outbox_gather(&box, runs, 3);
			size_t taken = runs[0].iov_len < piece ? runs[0].iov_len : piece;

			assert_true(n_runs > 0);
			memcpy(out + at, runs[0].iov_base, taken);
			at += taken;
			dgi_outbox_sent(&box, taken);
		}
		assert_int_equal(at, n);
		assert_memory_equal(out, wanted, n);
		assert_int_equal(box.n_taken, 3);
		assert_int_equal(box.bytes, 0);
	}
}

static void a_body_longer_than_a_frame_is_not_queued(void **state)
{
	struct iovec lent = { &pool, DGI_FRAME_BODY_BYTES_MAX }; /* never looked at */
	struct dgi_body body = { .lent = &lent, .n_lent = 1 };
	struct dgi_outbox box;
	dg_error err = { 0 };

	(void)state;
	dgi_outbox_init(&box, &pool);
	assert_ok(dgi_outbox_put(&box, (struct dgi_frame){ 0 }, &body, &err), &err);
	lent.iov_len++;
	assert_fails(dgi_outbox_put(&box, (struct dgi_frame){ 0 }, &body, &err), DG_INVALID, &err,
		     "body of 67108865 bytes, at most 67108864");
	assert_int_equal(box.bytes, DGI_FRAME_BYTES + DGI_FRAME_BODY_BYTES_MAX);
	dgi_outbox_clear(&box);
	assert_int_equal(box.bytes, 0);
	assert_null(box.first);
}

static void blocks_are_used_again_up_to_a_limit(void **state)
{
	struct dgi_pool p = dgi_pool_of(1024);
	void *a = dgi_pool_get(&p, 300), *b = dgi_pool_get(&p, 512), *c = dgi_pool_get(&p, 1);

	(void)state;
	assert_int_equal((uintptr_t)a % 64, 0);
	dgi_pool_put(&p, a, 300);
	dgi_pool_put(&p, b, 512);
	assert_int_equal(p.kept_bytes, 1024);
	dgi_pool_put(&p, c, 1); /* too much: given back to the system */
	assert_int_equal(p.kept_bytes, 1024);
	assert_ptr_equal(dgi_pool_get(&p, 257), b);
	assert_int_equal(p.kept_bytes, 512);
	dgi_pool_put(&p, b, 257);
	assert_null(dgi_pool_get(&p, ((size_t)256 << 19) + 1));
	dgi_pool_put(&p, NULL, 5);
	dgi_pool_clear(&p);
	assert_int_equal(p.kept_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_cut_anywhere_gives_the_same_messages),
		cmocka_unit_test(a_stream_of_pieces_of_any_length_gives_the_same_messages),
		cmocka_unit_test(bodies_are_received_into_place),
		cmocka_unit_test(a_message_held_back_comes_when_it_is_allowed),
		cmocka_unit_test(a_header_that_is_wrong_ends_the_stream),
		cmocka_unit_test(what_is_queued_goes_out_in_order_however_it_is_cut),
		cmocka_unit_test(a_body_longer_than_a_frame_is_not_queued),
		cmocka_unit_test(blocks_are_used_again_up_to_a_limit),
	};

	return cmocka_run_group_tests(tests, make_pool, clear_pool);
}
