/*
 * power.c -- power cuts: a recorded workload, and at each of its moments images of what the disk
 * may hold then, each opened and compared with what was acknowledged before.
 *
 * One recording in four also has a sync fail. What a disk may hold is said in disk.h.
 */
#include "disk.h"
#include "jobs.h"
#include "meanwhile.h"
#include "shim.h"

#include "check.h"
#include "deadline.h"
#include "rng.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHORT_IMAGES 5000
#define IMAGES_A_RECORDING 1250
#define GROUPS 14
#define OPENINGS 2
#define MAKING_SHARE 8
#define MAKING_SYNCS 12	   /* about; one of these failing leaves no store to cut */
#define CHECKPOINT_EVERY 6 /* groups */
#define LOG_BYTES (UINT64_C(1) << 30)
#define GO_ON_EVERY 8 /* images: push to it, too */

struct counters {
	_Atomic uint64_t images;
	_Atomic uint64_t absent;    /* of a store that was not promised yet */
	_Atomic uint64_t in_flight; /* had pushes in flight */
	_Atomic uint64_t whole;	    /* … and all of them were there */
};

static struct counters *counters;

struct recording {
	struct crash_case c;
	struct shim_log *log;
	uint64_t failing_sync; /* 0: none */
};

/* --- Recording --- */

/* Opens the store, pushes, closes it; with checkpoints in between or, @meanwhile, all the time. */
static enum workload_end open_and_push(struct workload *w, bool meanwhile, dg_error *err)
{
	struct dgi_rng rng = dgi_rng_of(w->plan->seed, 3001);
	static struct checkpoints checkpoints;
	enum workload_end end = workload_open(w, true, err);

	if (end)
		return end;
	if (meanwhile)
		checkpoints_begin(&checkpoints, w, &rng);
	for (int g = 0; !end && g < GROUPS; g++) {
		end = workload_group(w, err);
		if (!end && !meanwhile && g % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1)
			end = workload_checkpoint(w, err);
	}
	if (meanwhile)
		checkpoints_end(&checkpoints);
	workload_close(w);
	return end;
}

static int play(void *context)
{
	struct recording *r = context;
	struct shim_order order = {
		.calls = SHIM_SYNC, .at = r->failing_sync, .fault = SHIM_ERROR, .error = EIO
	};
	enum workload_end end;
	static struct workload w;
	dg_error err;

	workload_init(&w, &r->c.plan, r->c.oracle, r->c.store);
	shim_watch(r->c.files);
	shim_order(&order);
	shim_log_to(r->log);
	end = workload_make(&w, &err);
	for (int i = 0; !end && i < OPENINGS; i++)
		end = open_and_push(&w, i > 0, &err);
	shim_log_to(NULL);
	workload_clear(&w);
	if (end && !shim_fired())
		fprintf(stderr, "WRONG: no fault was injected, but: %s\n", err.text);
	return end && !shim_fired() ? 1 : 0;
}

static uint64_t inode_of(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 ? info.st_ino : 0;
}

/* --- Replaying --- */

/* A moment of the recording. */
struct moment {
	struct disk *disk;
	bool created;
	uint64_t begun;
	uint64_t acknowledged;
	uint64_t durable; /* whatever the tensor's class */
	uint64_t churn_begun, churn_done;
};

struct image {
	const struct recording *recording;
	const struct moment *moment;
	const char *files; /* the directory that holds the store, if there is one */
	uint64_t number;
	bool go_on;
};

/* Pushes to the store that was found to hold so many of those in flight, and compares again. */
static int go_on(struct workload *w, const struct workload_found *found)
{
	enum workload_end end;
	dg_error err;

	oracle_fold(w->oracle, w->plan, found->present, found->maybe);
	workload_begin(w);
	end = workload_open(w, true, &err);
	for (int i = 0; !end && i < 3; i++)
		end = workload_group(w, &err);
	if (end) {
		fprintf(stderr, "WRONG: it cannot be pushed to: %s\n", err.text);
		return 1;
	}
	workload_close(w);
	return workload_verify(w, true) ? 0 : 1;
}

/*
 * What the oracle said at that moment, for this process alone. Numbers are compared within an image,
 * not across them.
 */
static struct oracle *oracle_then(const struct oracle *oracle, const struct plan *plan,
				  const struct moment *m)
{
	size_t n = sizeof *oracle + plan->model_bytes;
	struct oracle *copy = malloc(n);

	DGI_ASSERT(copy);
	memcpy(copy, oracle, n);
	copy->log_number = copy->incarnation = 0;
	atomic_store(&copy->n_attempts, m->begun);
	atomic_store(&copy->churn_begun, m->churn_begun);
	atomic_store(&copy->churn_done, m->churn_done);
	for (uint64_t i = 0; i < m->begun; i++) {
		bool certain = i < m->durable || (i < m->acknowledged &&
						  !plan_is_interval(plan, copy->attempts[i].push));

		if (atomic_load(&copy->attempts[i].outcome) != ORACLE_REPEATED)
			atomic_store(&copy->attempts[i].outcome,
				     certain ? ORACLE_ACKNOWLEDGED : ORACLE_PENDING);
	}
	return copy;
}

static int compare_image(const struct image *image, struct workload *w)
{
	uint64_t pending[ORACLE_PENDING_MAX];
	uint64_t n = atomic_load(&w->oracle->n_attempts);
	size_t n_pending = oracle_expect(w->oracle, w->plan, n, w->model, pending);
	struct workload_found found;
	dg_error err;

	if (workload_compare(w, true, w->model, pending, n_pending, &found, &err))
		return 1;
	if (n_pending)
		atomic_fetch_add(&counters->in_flight, 1);
	if (n_pending && found.maybe == n_pending)
		atomic_fetch_add(&counters->whole, 1);
	return image->go_on ? go_on(w, &found) : 0;
}

static int compare_child(void *context)
{
	const struct image *image = context;
	const struct recording *r = image->recording;
	struct oracle *oracle;
	static struct workload w;
	char store[512];
	int result;

	(void)snprintf(store, sizeof store, "%s/store", image->files);
	if (access(store, F_OK) != 0 && !image->moment->created) {
		atomic_fetch_add(&counters->absent, 1);
		return 0;
	}
	oracle = oracle_then(r->c.oracle, &r->c.plan, image->moment);
	workload_init(&w, &r->c.plan, oracle, store);
	result = compare_image(image, &w);
	workload_clear(&w);
	free(oracle);
	return result;
}

static bool try_image(const struct recording *r, const struct moment *m, uint64_t number)
{
	struct dgi_rng rng = dgi_rng_of(r->c.plan.seed, 5000 + number);
	char files[320];
	struct image image = { .recording = r, .moment = m, .files = files, .number = number };
	bool sound;

	(void)snprintf(files, sizeof files, "%s/image", r->c.dir);
	image.go_on = number % GO_ON_EVERY == 0;
	(void)mkdir(files, 0700);
	sound = disk_image(m->disk, rng, files);
	if (!sound)
		fprintf(stderr, "image %" PRIu64 " could not be written\n", number);
	sound = sound && crash_child_exited(crash_child_run(compare_child, &image), 0);
	atomic_fetch_add(&counters->images, 1);
	crash_tree_remove(files);
	if (sound)
		return true;
	(void)snprintf(files, sizeof files, "%s/kept", r->c.dir);
	(void)disk_image(m->disk, rng, files);
	fprintf(stderr,
		"image %" PRIu64 " of seed %" PRIu64 ": %" PRIu64 " pushes acknowledged, %" PRIu64
		" begun%s; as it was: %s\n",
		number, r->c.plan.seed, m->acknowledged, m->begun,
		m->created ? "" : ", creation not acknowledged", files);
	return false;
}

static void take_note(struct moment *m, const struct shim_record *note)
{
	if (note->kind != SHIM_LOG_NOTE)
		return;
	m->created = true;
	m->begun = note->inode & WORKLOAD_NOTE_MASK;
	m->acknowledged = note->offset & WORKLOAD_NOTE_MASK;
	m->churn_begun = note->inode >> WORKLOAD_NOTE_BITS;
	m->churn_done = note->offset >> WORKLOAD_NOTE_BITS;
	if (m->durable < note->other)
		m->durable = note->other;
}

/* How many images moment number @moment of @n gets, so that it is @wanted in all. */
static uint64_t images_of(uint64_t moment, uint64_t n, uint64_t wanted)
{
	return (moment + 1) * wanted / n - moment * wanted / n;
}

static bool try_images(const struct recording *r, const struct moment *m, uint64_t n,
		       uint64_t *number, uint64_t only)
{
	for (; n > 0; n--) {
		++*number;
		if ((only == 0 || only == *number) && !try_image(r, m, *number))
			return false;
	}
	return true;
}

/* Records before the store's creation was acknowledged. */
static uint64_t count_making(const struct shim_log *log)
{
	const struct shim_record *at = shim_log_next(log, NULL);
	uint64_t n = 0;

	for (; at && at->kind != SHIM_LOG_NOTE; at = shim_log_next(log, at))
		n++;
	return n;
}

/* Images are due to moments before and after a record, one in MAKING_SHARE to those of making. */
static bool replay(const struct recording *r, uint64_t wanted, uint64_t only)
{
	struct moment m = { .disk = disk_new(inode_of(r->c.files)) };
	uint64_t n_making = 2 * count_making(r->log);
	uint64_t n_pushing = 2 * r->log->n_records - n_making;
	uint64_t for_making = n_pushing ? wanted / MAKING_SHARE : wanted;
	uint64_t moment = 0;
	uint64_t number = 0;
	bool sound = true;

	for (const struct shim_record *at = NULL; sound && (at = shim_log_next(r->log, at));) {
		for (int after = 0; after < 2 && sound; after++, moment++) {
			uint64_t n = moment < n_making ? images_of(moment, n_making, for_making)
						       : images_of(moment - n_making, n_pushing,
								   wanted - for_making);

			if (after) {
				disk_end(m.disk, at);
				take_note(&m, at);
			} else {
				disk_begin(m.disk, at);
			}
			sound = try_images(r, &m, n, &number, only);
		}
	}
	disk_free(m.disk);
	return sound;
}

static bool run_recording(const struct crash_options *options, uint64_t seed, uint64_t images)
{
	struct dgi_rng rng = dgi_rng_of(seed, 3000);
	struct recording r = { .log = shim_log_new(LOG_BYTES) };
	bool sound;

	if (dgi_rng_below(&rng, 4) == 0)
		r.failing_sync = MAKING_SYNCS + dgi_rng_below(&rng, 40);
	crash_case_new(&r.c, options, seed, 1);
	sound = crash_child_exited(crash_child_run(play, &r), 0);
	if (r.log->overflowed) {
		fprintf(stderr, "the log is full\n");
		sound = false;
	}
	sound = sound && replay(&r, images, options->at);
	shim_log_free(r.log);
	if (sound)
		crash_case_remove(&r.c);
	else
		crash_case_keep(&r.c);
	return sound;
}

static bool run_recordings(void *context, unsigned job, uint64_t images)
{
	const struct crash_options *options = context;
	uint64_t seed = options->seed + job;

	for (uint64_t done = 0; done < images; done += IMAGES_A_RECORDING) {
		uint64_t left = images - done;

		if (!run_recording(options, seed,
				   left < IMAGES_A_RECORDING ? left : IMAGES_A_RECORDING))
			return false;
		seed += options->jobs;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct crash_options options = crash_options_read(argc, argv);
	int64_t begun = dgi_now_ms();
	bool sound;

	counters = crash_shared_new(sizeof *counters);
	sound = crash_jobs_run(&options, options.runs ? options.runs : SHORT_IMAGES, run_recordings,
			       &options);
	printf("%" PRIu64 " images, %.0f a second; %" PRIu64
	       " without a store that was not promised, %" PRIu64
	       " with pushes in flight (all there in %" PRIu64 ")\n",
	       counters->images,
	       (double)counters->images * 1000 / (double)(dgi_now_ms() - begun + 1),
	       counters->absent, counters->in_flight, counters->whole);
	printf("%s\n", sound ? "nothing lost, torn or unreadable" : "FAILED");
	return sound ? 0 : 1;
}
