/* slots.c -- memory for hot chunks: slots of whole pages in sealed memfd segments. */
#include "slots.h"

#include "check.h"
#include "fail.h"
#include "reserve.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

#define PAGE_BYTES 4096
#define HUGE_BYTES (UINT64_C(2) << 20)
#define SEGMENT_PAGES ((uint32_t)(DGI_SLOTS_SEGMENT_BYTES / PAGE_BYTES))
#define SLOT_BITS 11			 /* slots of a segment: at most SEGMENT_PAGES */
#define SEGMENTS_MAX (UINT32_C(1) << 16) /* 512 GiB of hot chunks */
#define PAGES_MAX 256
#define NO_SLOT UINT32_MAX

static_assert(SEGMENT_PAGES == UINT32_C(1) << SLOT_BITS, "a slot number fits its bits");

struct segment {
	int fd;
	bool huge;
	uint32_t slot_pages;
	uint32_t next_unused;	     /* slots from here on were never taken */
	struct dgi_slot_note *notes; /* by a slot's first page: found without a division */
};

struct dgi_slots {
	/* Addresses by segment number: read by any thread, written before a slot of it is known. */
	dgi_slot_segment *addresses;
	struct segment *segments;
	uint32_t n_segments;
	uint64_t budget_bytes;
	uint64_t used_bytes;
	/* By slot size: the slots given back, each noting the next, and the segment
	 * that still has slots never taken. */
	uint32_t free_slots[PAGES_MAX + 1];
	uint32_t open_segment[PAGES_MAX + 1];

	/* The background thread keeps one segment ready, from the first use on. */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t wanted, ready;
	bool stopping;
	bool in_use; /* nothing is prepared for a pool that is never used */
	bool have_spare;
	uint8_t *spare_address;
	struct segment spare;
	dg_error spare_error;
};

static uint32_t segment_of(uint32_t slot)
{
	return slot >> SLOT_BITS;
}

static uint32_t page_of(uint32_t slot)
{
	return slot & (SEGMENT_PAGES - 1);
}

const dgi_slot_segment *dgi_slots_segments(const struct dgi_slots *pool)
{
	return pool->addresses;
}

struct dgi_slot_note *dgi_slots_note(const struct dgi_slots *pool, uint32_t slot)
{
	return &pool->segments[segment_of(slot)].notes[page_of(slot)];
}

/* Reserves address space with a 2 MiB boundary and maps the memfd there. */
static uint8_t *map_aligned(int fd)
{
	size_t room = DGI_SLOTS_SEGMENT_BYTES + HUGE_BYTES;
	uint8_t *reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *aligned;
	size_t before;

	if (reserved == MAP_FAILED)
		return NULL;
	before = (size_t)(-(uintptr_t)reserved & (HUGE_BYTES - 1));
	aligned = reserved + before;
	if (before)
		(void)munmap(reserved, before);
	if (HUGE_BYTES - before)
		(void)munmap(aligned + DGI_SLOTS_SEGMENT_BYTES, HUGE_BYTES - before);
	if (mmap(aligned, DGI_SLOTS_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 fd, 0) == MAP_FAILED) {
		(void)munmap(aligned, DGI_SLOTS_SEGMENT_BYTES);
		return NULL;
	}
	return aligned;
}

/* Puts one page into each 2 MiB, without which the kernel would not collapse it. */
static bool seed_huge_pages(int fd)
{
	for (uint64_t at = 0; at < DGI_SLOTS_SEGMENT_BYTES; at += HUGE_BYTES)
		if (fallocate(fd, 0, (off_t)at, PAGE_BYTES) != 0)
			return false;
	return true;
}

/*
 * Makes a segment: huge pages where the kernel collapses them, which costs a tenth while they are
 * nearly empty; memory behind every page else, so that no write to a slot can fail; then sealed, so
 * that nobody can map it for writing or change its size.
 */
static dg_status prepare_segment(struct segment *segment, uint8_t **address, dg_error *err)
{
	int fd = memfd_create("distgraph-hot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	dg_status st;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "memory for hot chunks");
	if (ftruncate(fd, (off_t)DGI_SLOTS_SEGMENT_BYTES) != 0 || !seed_huge_pages(fd)) {
		st = dgi_fail_errno(err, errno, "memory for hot chunks");
		goto fail;
	}
	*address = map_aligned(fd);
	if (!*address) {
		st = dgi_fail_errno(err, errno, "map memory for hot chunks");
		goto fail;
	}
	segment->huge = madvise(*address, DGI_SLOTS_SEGMENT_BYTES, MADV_COLLAPSE) == 0;
	if (fallocate(fd, 0, 0, (off_t)DGI_SLOTS_SEGMENT_BYTES) != 0) {
		st = dgi_fail_errno(err, errno, "memory for hot chunks");
		(void)munmap(*address, DGI_SLOTS_SEGMENT_BYTES);
		goto fail;
	}
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	segment->fd = fd;
	return DG_OK;
fail:
	(void)close(fd);
	return st;
}

/* Prepares the next segment while nobody waits for it. */
static void *prepare_spares(void *argument)
{
	struct dgi_slots *pool = argument;

	(void)pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct segment spare = { .fd = -1 };
		uint8_t *address = NULL;
		dg_error err = { 0 };
		dg_status st;

		while (!pool->stopping &&
		       (!pool->in_use || pool->have_spare || pool->spare_error.status))
			(void)pthread_cond_wait(&pool->wanted, &pool->lock);
		if (pool->stopping)
			break;
		(void)pthread_mutex_unlock(&pool->lock);
		st = prepare_segment(&spare, &address, &err);
		(void)pthread_mutex_lock(&pool->lock);
		pool->spare = spare;
		pool->spare_address = address;
		pool->spare_error = err;
		pool->have_spare = st == DG_OK;
		(void)pthread_cond_broadcast(&pool->ready);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* The segment that the background thread made ready; waits while it is at it. */
static dg_status take_spare(struct dgi_slots *pool, struct segment *out, uint8_t **address,
			    dg_error *err)
{
	dg_status st = DG_OK;

	(void)pthread_mutex_lock(&pool->lock);
	pool->in_use = true;
	(void)pthread_cond_signal(&pool->wanted);
	while (!pool->have_spare && !pool->spare_error.status)
		(void)pthread_cond_wait(&pool->ready, &pool->lock);
	if (pool->have_spare) {
		*out = pool->spare;
		*address = pool->spare_address;
		pool->have_spare = false;
	} else {
		st = pool->spare_error.status;
		if (err)
			*err = pool->spare_error;
		pool->spare_error = (dg_error){ 0 }; /* the next call tries again */
	}
	(void)pthread_cond_signal(&pool->wanted);
	(void)pthread_mutex_unlock(&pool->lock);
	return st;
}

static dg_status add_segment(struct dgi_slots *pool, uint32_t pages, dg_error *err)
{
	uint32_t number = pool->n_segments;
	struct dgi_slot_note *notes;
	struct segment segment;
	uint8_t *address;
	dg_status st;

	if (number == SEGMENTS_MAX)
		return dgi_fail(err, DG_FULL, "hot chunks: more than %u segments", SEGMENTS_MAX);
	notes = calloc(SEGMENT_PAGES, sizeof *notes);
	if (!notes)
		return dgi_fail_memory(err, "hot chunks");
	st = take_spare(pool, &segment, &address, err);
	if (st) {
		free(notes);
		return st;
	}
	segment.notes = notes;
	segment.slot_pages = pages;
	segment.next_unused = 0;
	pool->segments[number] = segment;
	atomic_store_explicit(&pool->addresses[number], address, memory_order_release);
	pool->n_segments++;
	pool->open_segment[pages] = number;
	return DG_OK;
}

/* A slot of the open segment that was never taken, or NO_SLOT. */
static uint32_t take_unused(struct dgi_slots *pool, uint32_t pages)
{
	uint32_t number = pool->open_segment[pages];
	struct segment *segment;

	if (number == NO_SLOT)
		return NO_SLOT;
	segment = &pool->segments[number];
	if (segment->next_unused == SEGMENT_PAGES / pages)
		return NO_SLOT;
	return number << SLOT_BITS | segment->next_unused++ * pages;
}

dg_status dgi_slots_take_apart(struct dgi_slots *pool, uint32_t pages, uint32_t *slot,
			       dg_error *err)
{
	uint32_t taken;
	dg_status st;

	DGI_ASSERT(pages >= 1 && pages <= PAGES_MAX);
	taken = pool->free_slots[pages];
	if (taken != NO_SLOT) {
		pool->free_slots[pages] = dgi_slots_note(pool, taken)->next;
	} else {
		taken = take_unused(pool, pages);
		if (taken == NO_SLOT) {
			st = add_segment(pool, pages, err);
			if (st)
				return st;
			taken = take_unused(pool, pages);
		}
	}
	*slot = taken;
	return DG_OK;
}

dg_status dgi_slots_take(struct dgi_slots *pool, uint32_t pages, uint32_t *slot, dg_error *err)
{
	uint64_t bytes = (uint64_t)pages * PAGE_BYTES;
	dg_status st;

	if (pool->used_bytes > pool->budget_bytes || bytes > pool->budget_bytes - pool->used_bytes)
		return dgi_fail(err, DG_FULL, "hot chunks: the budget of %llu MiB is used up",
				(unsigned long long)(pool->budget_bytes >> 20));
	st = dgi_slots_take_apart(pool, pages, slot, err);
	if (!st)
		pool->used_bytes += bytes;
	return st;
}

uint64_t dgi_slots_bytes(const struct dgi_slots *pool, uint32_t slot)
{
	return (uint64_t)pool->segments[segment_of(slot)].slot_pages * PAGE_BYTES;
}

void dgi_slots_give(struct dgi_slots *pool, uint32_t slot)
{
	uint32_t pages = pool->segments[segment_of(slot)].slot_pages;

	dgi_slots_note(pool, slot)->next = pool->free_slots[pages];
	pool->free_slots[pages] = slot;
	pool->used_bytes -= (uint64_t)pages * PAGE_BYTES;
}

dg_status dgi_slots_new(uint64_t budget_bytes, struct dgi_slots **out, dg_error *err)
{
	struct dgi_slots *pool = calloc(1, sizeof *pool);
	dg_status st;

	if (!pool)
		return dgi_fail_memory(err, "hot chunks");
	pool->budget_bytes = budget_bytes;
	for (size_t i = 0; i <= PAGES_MAX; i++)
		pool->free_slots[i] = pool->open_segment[i] = NO_SLOT;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->wanted, NULL);
	(void)pthread_cond_init(&pool->ready, NULL);
	pool->addresses = dgi_reserve(SEGMENTS_MAX, sizeof *pool->addresses);
	pool->segments = dgi_reserve(SEGMENTS_MAX, sizeof *pool->segments);
	if (!pool->addresses || !pool->segments)
		st = dgi_fail_memory(err, "hot chunks");
	else
		st = dgi_thread_start(&pool->thread, prepare_spares, pool, "hot chunks", err);
	if (st) {
		dgi_slots_free(pool);
		return st;
	}
	pool->has_thread = true;
	*out = pool;
	return DG_OK;
}

void dgi_slots_set_budget(struct dgi_slots *pool, uint64_t budget_bytes)
{
	pool->budget_bytes = budget_bytes;
}

static void release_segment(const struct segment *segment, uint8_t *address)
{
	(void)munmap(address, DGI_SLOTS_SEGMENT_BYTES);
	(void)close(segment->fd);
	free(segment->notes);
}

void dgi_slots_free(struct dgi_slots *pool)
{
	if (!pool)
		return;
	if (pool->has_thread) {
		(void)pthread_mutex_lock(&pool->lock);
		pool->stopping = true;
		(void)pthread_cond_signal(&pool->wanted);
		(void)pthread_mutex_unlock(&pool->lock);
		(void)pthread_join(pool->thread, NULL);
	}
	if (pool->have_spare)
		release_segment(&pool->spare, pool->spare_address);
	for (uint32_t i = 0; i < pool->n_segments; i++)
		release_segment(&pool->segments[i], atomic_load(&pool->addresses[i]));
	dgi_unreserve(pool->addresses, SEGMENTS_MAX, sizeof *pool->addresses);
	dgi_unreserve(pool->segments, SEGMENTS_MAX, sizeof *pool->segments);
	(void)pthread_cond_destroy(&pool->wanted);
	(void)pthread_cond_destroy(&pool->ready);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void dgi_slots_get_stats(struct dgi_slots *pool, struct dgi_slots_stats *out)
{
	*out = (struct dgi_slots_stats){
		.budget_bytes = pool->budget_bytes,
		.used_bytes = pool->used_bytes,
		.mapped_bytes = pool->n_segments * DGI_SLOTS_SEGMENT_BYTES,
	};
	for (uint32_t i = 0; i < pool->n_segments; i++)
		if (pool->segments[i].huge)
			out->huge_bytes += DGI_SLOTS_SEGMENT_BYTES;
}
