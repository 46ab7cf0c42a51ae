/* What a bad network does to a stream of frames, fault by fault. */
#include "test.h"

#include "frame.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 400, BODY = 40, FRAME = DGI_FRAME_BYTES + BODY, MAX_SEEDS = 20 };

/* Frames with ids 1, 2, … and bodies full of their id. */
static void make_frames(struct chaos_bytes *out)
{
	for (unsigned i = 1; i <= FRAMES; i++) {
		const struct dgi_frame frame = { .version = DGI_PROTOCOL_VERSION,
						 .type = 4,
						 .request_id = i,
						 .body_bytes = BODY };
		uint8_t bytes[FRAME];

		dgi_frame_encode(&frame, bytes);
		memset(bytes + DGI_FRAME_BYTES, (int)i, BODY);
		chaos_bytes_add(out, bytes, sizeof bytes);
	}
}

/* Puts @in through, in pieces of drawn length; returns the number of faults at bytes. */
static unsigned put_through(struct chaos_stream *s, const struct chaos_bytes *in,
			    struct chaos_bytes *out)
{
	struct dgi_rng rng = dgi_rng_of(s->plan.seed, 999);
	unsigned n_faults = 0;

	for (size_t at = 0; at < in->n;) {
		size_t n = 1 + dgi_rng_below(&rng, 150);
		enum chaos_fault fault;

		at += chaos_stream_take(s, in->data + at, in->n - at < n ? in->n - at : n, out,
					&fault);
		n_faults += fault != CHAOS_FAULTS;
	}
	return n_faults;
}

struct run {
	struct chaos_stream stream;
	struct chaos_bytes in, out;
	unsigned n_faults;
};

static void run_begin(struct run *run, const char *faults, uint64_t every_bytes,
		      uint64_t every_frames, uint64_t seed)
{
	struct chaos_plan plan = { .seed = seed,
				   .every_bytes = every_bytes,
				   .every_frames = every_frames };

	*run = (struct run){ .n_faults = 0 };
	assert_true(chaos_faults_parse(faults, &plan.faults));
	chaos_stream_init(&run->stream, &plan, 0);
	make_frames(&run->in);
	run->n_faults = put_through(&run->stream, &run->in, &run->out);
}

static void run_end(struct run *run)
{
	chaos_stream_clear(&run->stream);
	free(run->in.data);
	free(run->out.data);
}

static void without_faults_bytes_pass_as_they_are(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run, "", 100, 3, 1);
	assert_int_equal(run.n_faults, 0);
	assert_int_equal(run.out.n, run.in.n);
	assert_memory_equal(run.out.data, run.in.data, run.in.n);
	run_end(&run);
}

static void faults_at_bytes_come_as_often_as_asked(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run, "cut,delay,half-close,one-way", 100, 0, 1);
	assert_in_range(run.n_faults, FRAMES * FRAME / 100 / 2, FRAMES * FRAME / 100 * 2);
	for (int f = 0; f < CHAOS_FAULTS; f++)
		assert_true((run.stream.counts[f] > 0) == (f < CHAOS_DROP));
	run_end(&run);
}

/* Reads frames as a peer does; returns how many headers were sound before the first bad one. */
static unsigned read_frames(const struct chaos_bytes *in, uint64_t ids[2 * FRAMES], bool *broken)
{
	unsigned n = 0;
	size_t at = 0;

	*broken = false;
	while (at + FRAME <= in->n) {
		struct dgi_frame frame;

		*broken = dgi_frame_decode(in->data + at, 65536, &frame, NULL) != DG_OK;
		if (*broken)
			return n;
		assert_int_equal(frame.body_bytes, BODY);
		for (size_t i = 0; i < BODY; i++)
			assert_int_equal(in->data[at + DGI_FRAME_BYTES + i],
					 (uint8_t)frame.request_id);
		ids[n++] = frame.request_id;
		at += FRAME;
	}
	return n;
}

/* The first frame that is not as it was is noticed by its header: no wrong body is ever read. */
static void changed_bytes_are_noticed_by_the_check_of_the_header(void **state)
{
	static const char *const faults[] = { "drop", "duplicate", "reorder" };
	uint64_t ids[2 * FRAMES];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (uint64_t seed = 1; seed <= MAX_SEEDS; seed++) {
			struct run run;
			unsigned n;
			bool broken;

			run_begin(&run, faults[i], 0, 20, seed);
			n = read_frames(&run.out, ids, &broken);
			for (unsigned j = 0; j < n; j++)
				assert_int_equal(ids[j], j + 1);
			/* A few bytes that change places may be equal: then nothing was changed. */
			assert_true(broken || i == 2);
			run_end(&run);
		}
}

static void lost_repeated_and_swapped_frames_are_whole(void **state)
{
	static const char *const faults[] = { "lose-frame", "repeat-frame", "swap-frames" };
	uint64_t ids[2 * FRAMES];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		enum chaos_fault kind = (enum chaos_fault)(CHAOS_LOSE_FRAME + (int)i);
		struct run run;
		unsigned n, n_backward = 0, n_equal = 0;
		uint64_t n_faults;
		bool broken;

		run_begin(&run, faults[i], 0, 20, 1);
		n = read_frames(&run.out, ids, &broken);
		n_faults = run.stream.counts[kind];
		assert_false(broken);
		assert_in_range(n_faults, FRAMES / 40, FRAMES / 10);
		for (unsigned j = 1; j < n; j++) {
			n_backward += ids[j] < ids[j - 1];
			n_equal += ids[j] == ids[j - 1];
		}
		if (kind == CHAOS_LOSE_FRAME)
			assert_int_equal(n, FRAMES - n_faults);
		if (kind == CHAOS_REPEAT_FRAME)
			assert_int_equal(n, FRAMES + n_faults);
		assert_int_equal(n_equal, kind == CHAOS_REPEAT_FRAME ? n_faults : 0);
		assert_int_equal(n_backward > 0, kind == CHAOS_SWAP_FRAMES);
		run_end(&run);
	}
}

static void the_same_seed_gives_the_same_faults(void **state)
{
	struct run first, second, other;

	(void)state;
	run_begin(&first, "drop,cut,repeat-frame", 300, 10, 7);
	run_begin(&second, "drop,cut,repeat-frame", 300, 10, 7);
	run_begin(&other, "drop,cut,repeat-frame", 300, 10, 8);
	assert_int_equal(first.out.n, second.out.n);
	assert_memory_equal(first.out.data, second.out.data, first.out.n);
	assert_true(first.out.n != other.out.n ||
		    memcmp(first.out.data, other.out.data, first.out.n) != 0);
	run_end(&first);
	run_end(&second);
	run_end(&other);
}

static void unknown_faults_are_refused(void **state)
{
	uint32_t faults;

	(void)state;
	assert_true(chaos_faults_parse("cut,one-way", &faults));
	assert_int_equal(faults, 1 << CHAOS_CUT | 1 << CHAOS_ONE_WAY);
	assert_false(chaos_faults_parse("cut,bite", &faults));
	assert_false(chaos_faults_parse("cutt", &faults));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_bytes_pass_as_they_are),
		cmocka_unit_test(faults_at_bytes_come_as_often_as_asked),
		cmocka_unit_test(changed_bytes_are_noticed_by_the_check_of_the_header),
		cmocka_unit_test(lost_repeated_and_swapped_frames_are_whole),
		cmocka_unit_test(the_same_seed_gives_the_same_faults),
		cmocka_unit_test(unknown_faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
