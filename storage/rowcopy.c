/* rowcopy.c -- the chunk table, and every access to the row bytes behind it. */
#include "rowcopy.h"

#include "check.h"
#include "fail.h"
#include "record.h"
#include "reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VERIFIED (UINT64_C(1) << 63)
#define HOT (UINT64_C(1) << 62)
#define PLACE (HOT - 1)	    /* page or slot */
#define GROUP_ROWS 64	    /* checked together */
#define RING_ROWS 128	    /* looked up and not yet checked: a group and what is ahead of it */
#define ROWS_AHEAD 12	    /* looked up and prefetched before the one that is copied */
#define SHORT_ROW_BYTES 256 /* up to here more are, since each is fewer lines */
#define SHORT_ROWS_AHEAD 24
#define PREFETCH_BYTES 512 /* of each; the processor's own prefetcher sees longer runs */
#define LINE_BYTES 64
#define TRIES 64 /* without the lock */

#if defined(__SANITIZE_THREAD__)
#define DGI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DGI_TSAN 1
#endif
#endif

/* --- The table --- */

static dg_status map_memfd(size_t bytes, int *fd, void **out, dg_error *err)
{
	void *base;

	*fd = memfd_create("distgraph-table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return dgi_fail_errno(err, errno, "chunk table");
	if (ftruncate(*fd, (off_t)bytes) != 0)
		return dgi_fail_errno(err, errno, "chunk table of %zu bytes", bytes);
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (base == MAP_FAILED)
		return dgi_fail_errno(err, errno, "map the chunk table of %zu bytes", bytes);
	/* Whoever gets the descriptor can neither write nor resize it; harmless where not known. */
	(void)fcntl(*fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	*out = base;
	return DG_OK;
}

/* Memory for so many entries, none of it touched. */
static dg_status reserve_entries(struct dgi_table *table, size_t capacity, dg_error *err)
{
	void *entries = NULL;
	dg_status st;

	table->capacity = capacity ? capacity : 1; /* a map of no bytes is an error */
	table->logs = dgi_reserve(table->capacity, sizeof *table->logs);
	table->frozen = dgi_reserve(table->capacity, sizeof *table->frozen);
	if (!table->logs || !table->frozen)
		return dgi_fail_memory(err, "chunk table");
	st = map_memfd(table->capacity * sizeof *table->entries, &table->fd, &entries, err);
	table->entries = entries;
	return st;
}

static void release_entries(struct dgi_table *table)
{
	if (table->entries)
		(void)munmap(table->entries, table->capacity * sizeof *table->entries);
	if (table->fd >= 0)
		(void)close(table->fd);
	dgi_unreserve(table->logs, table->capacity, sizeof *table->logs);
	table->entries = NULL;
	dgi_unreserve(table->frozen, table->capacity, sizeof *table->frozen);
	table->logs = NULL;
	table->frozen = NULL;
	table->fd = -1;
}

dg_status dgi_table_open(struct dgi_table *table, size_t n, size_t capacity,
			 const struct dgi_map *map, const dg_uuid *store_uuid, dg_error *err)
{
	dg_status st;

	*table = (struct dgi_table){ .n = n, .fd = -1, .map = map, .store_uuid = *store_uuid };
	(void)pthread_mutex_init(&table->record, NULL);
	(void)pthread_mutex_init(&table->lock, NULL);
	if (capacity < n)
		capacity = n;
	st = reserve_entries(table, capacity, err);
	while (st && capacity > n) {
		release_entries(table);
		capacity = n + (capacity - n) / 2;
		st = reserve_entries(table, capacity, err);
	}
	if (st)
		dgi_table_close(table);
	return st;
}

void dgi_table_close(struct dgi_table *table)
{
	if (!table->map)
		return;
	release_entries(table);
	(void)pthread_mutex_destroy(&table->lock);
	(void)pthread_mutex_destroy(&table->record);
	*table = (struct dgi_table){ 0 };
}

dg_status dgi_table_extend(struct dgi_table *table, size_t more, dg_error *err)
{
	if (more > table->capacity - table->n)
		return dgi_fail(err, DG_FULL,
				"chunk table: no room for %zu chunks more until the store is "
				"opened anew",
				more);
	table->n += more;
	return DG_OK;
}

void dgi_table_set(struct dgi_table *table, const struct dgi_image *image)
{
	DGI_ASSERT(image->entry < table->capacity && image->page <= PLACE);
	atomic_store(&table->entries[image->entry].location, image->page);
	atomic_store(&table->logs[image->entry], image->log);
}

void dgi_table_lock(struct dgi_table *table)
{
	(void)pthread_mutex_lock(&table->record);
	(void)pthread_mutex_lock(&table->lock);
}

void dgi_table_unlock(struct dgi_table *table)
{
	(void)pthread_mutex_unlock(&table->lock);
	(void)pthread_mutex_unlock(&table->record);
}

void dgi_table_give_way(struct dgi_table *table)
{
	/* A mutex is not fair: who unlocks gets it again. So wait until the readers had it. */
	(void)pthread_mutex_unlock(&table->lock);
	while (atomic_load_explicit(&table->waiting, memory_order_relaxed) > 0)
		(void)sched_yield();
	(void)pthread_mutex_lock(&table->lock);
}

/* A reader's way to the lock. */
static void lock_as_reader(struct dgi_table *table)
{
	atomic_fetch_add(&table->waiting, 1);
	(void)pthread_mutex_lock(&table->lock);
	atomic_fetch_sub(&table->waiting, 1);
}

/* From here to finish_change() readers find the sequence odd. */
static uint64_t begin_change(struct dgi_table_entry *entry)
{
	uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_relaxed);

	atomic_store_explicit(&entry->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	return sequence;
}

static void finish_change(struct dgi_table_entry *entry, uint64_t sequence)
{
	atomic_store_explicit(&entry->sequence, sequence + 2, memory_order_release);
}

static void set_location(struct dgi_table *table, size_t number, uint64_t location)
{
	struct dgi_table_entry *entry = &table->entries[number];
	uint64_t sequence = begin_change(entry);

	table->frozen[number] = false;
	atomic_store_explicit(&entry->location, location | VERIFIED, memory_order_release);
	finish_change(entry, sequence);
}

bool dgi_table_page(const struct dgi_table *table, size_t entry, uint64_t *page, bool *verified)
{
	uint64_t location =
		atomic_load_explicit(&table->entries[entry].location, memory_order_relaxed);

	*page = location & PLACE;
	*verified = (location & VERIFIED) != 0;
	return !(location & HOT);
}

bool dgi_table_is_hot(const struct dgi_table *table, size_t entry, uint32_t *slot)
{
	uint64_t location =
		atomic_load_explicit(&table->entries[entry].location, memory_order_relaxed);

	*slot = (uint32_t)(location & PLACE);
	return (location & HOT) != 0;
}

bool dgi_table_is_writable(const struct dgi_table *table, size_t entry, uint32_t *slot)
{
	return dgi_table_is_hot(table, entry, slot) && !table->frozen[entry];
}

void dgi_table_freeze(struct dgi_table *table, size_t entry)
{
	table->frozen[entry] = true;
}

void dgi_table_thaw(struct dgi_table *table, size_t entry)
{
	table->frozen[entry] = false;
}

void dgi_table_set_hot(struct dgi_table *table, size_t entry, uint32_t slot)
{
	set_location(table, entry, HOT | slot);
}

void dgi_table_set_clean(struct dgi_table *table, const struct dgi_image *image)
{
	set_location(table, image->entry, image->page);
	dgi_table_set_log(table, image->entry, image->log);
}

void dgi_table_set_log(struct dgi_table *table, size_t entry, uint64_t log)
{
	atomic_store_explicit(&table->logs[entry], log, memory_order_release);
}

uint64_t dgi_table_log(const struct dgi_table *table, size_t entry)
{
	return atomic_load_explicit(&table->logs[entry], memory_order_relaxed);
}

/* --- Copy and check --- */

/* Has the entry moved since @sequence was loaded? Then what was read meanwhile may be wrong. */
static inline bool has_moved(const struct dgi_table_entry *entry, uint64_t sequence)
{
#ifdef DGI_ROWCOPY_UNCHECKED /* a test shows that the check is needed */
	(void)entry;
	(void)sequence;
	return false;
#else
	return (sequence & 1) |
	       (atomic_load_explicit(&entry->sequence, memory_order_relaxed) != sequence);
#endif
}

static const uint8_t *value_at(const struct dgi_table *table, uint64_t location)
{
	return dgi_map_at(table->map,
			  (location & ~VERIFIED) * DGI_PAGE_BYTES + DGI_PAGE_HEADER_BYTES);
}

/* Copies bytes that another thread may be overwriting; the caller checks afterwards. */
static inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
#ifdef DGI_TSAN
	for (size_t i = 0; i < n; i++)
		to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
#else
	memcpy(to, from, n);
#endif
}

/* The same way in: bytes that another thread may be copying. */
static inline void store_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
#ifdef DGI_TSAN
	for (size_t i = 0; i < n; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELAXED);
#else
	memcpy(to, from, n);
#endif
}

void dgi_row_put(uint8_t *to, const void *row, size_t n)
{
	store_bytes(to, row, n);
}

void dgi_table_store_row(struct dgi_table *table, size_t entry, uint8_t *to, const void *row,
			 size_t n)
{
	struct dgi_table_entry *e = &table->entries[entry];
	uint64_t sequence = begin_change(e);

	store_bytes(to, row, n);
	finish_change(e, sequence);
}

static dg_status image_check(const struct dgi_table *table, const struct dgi_rows *rows,
			     uint64_t chunk, uint64_t location, uint64_t log, dg_error *err)
{
	const struct dgi_key key = {
		.kind = DGI_KIND_CHUNK, .tensor = rows->tensor, .chunk = chunk, .log = log
	};
	const uint8_t *value = value_at(table, location);
	uint8_t header[DGI_RECORD_HEADER_BYTES];
	uint32_t n_rows = dgi_cut_rows(&rows->cut, chunk);
	size_t payload_bytes = (size_t)n_rows * rows->cut.row_bytes;
	struct dgi_record record;
	dg_status st;

	copy_bytes(header, value, sizeof header);
	st = dgi_record_header(header, rows->cut.value_bytes, DGI_KIND_CHUNK, &record, err);
	if (st)
		return st;
	if (record.payload_bytes != payload_bytes || record.count != n_rows || record.log != log)
		return dgi_fail(err, DG_CORRUPT,
				"record of %" PRIu64 " rows, %" PRIu64 " bytes, image %" PRIu64
				", want %" PRIu32 ", %zu, %" PRIu64,
				record.count, record.payload_bytes, record.log, n_rows,
				payload_bytes, log);
	if (!dgi_record_holds(header, &table->store_uuid, &key, value + DGI_RECORD_HEADER_BYTES,
			      payload_bytes))
		return dgi_fail(err, DG_CORRUPT,
				"its checksum does not match: damaged, or in the wrong place");
	return DG_OK;
}

/* One try; *moved: the verdict is void. */
static dg_status verify_once(struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			     bool *moved, dg_error *err)
{
	struct dgi_table_entry *entry = &table->entries[rows->first_entry + chunk];
	uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
	uint64_t location = atomic_load_explicit(&entry->location, memory_order_acquire);
	uint64_t log =
		atomic_load_explicit(&table->logs[rows->first_entry + chunk], memory_order_acquire);
	dg_status st;

	*moved = false;
	if (location & VERIFIED)
		return DG_OK;
	st = image_check(table, rows, chunk, location, log, err);
	atomic_thread_fence(memory_order_acquire);
	*moved = has_moved(entry, sequence);
	/* An image that is published is verified from the start, so this is still the same one. */
	if (!st && !*moved)
		(void)atomic_compare_exchange_strong(&entry->location, &location,
						     location | VERIFIED);
	return st;
}

dg_status dgi_rows_verify(struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			  dg_error *err)
{
	uint64_t first = chunk * rows->cut.chunk_rows;
	bool moved = true;
	dg_status st = DG_OK;

	for (int i = 0; i < TRIES && moved; i++)
		st = verify_once(table, rows, chunk, &moved, err);
	if (moved) {
		lock_as_reader(table);
		st = verify_once(table, rows, chunk, &moved, err);
		(void)pthread_mutex_unlock(&table->lock);
	}
	if (st)
		return dgi_context(err, st, "rows %" PRIu64 "..%" PRIu64, first,
				   first + dgi_cut_rows(&rows->cut, chunk) - 1);
	return DG_OK;
}

/* Where a row is that was looked up and is yet to be copied and checked. */
struct found {
	const struct dgi_table_entry *entry;
	uint64_t sequence;
	const uint8_t *source;
};

/* Why a row could not be looked up; OK once its chunk is verified. */
static __attribute__((noinline)) dg_status
prepare_row(struct dgi_table *table, const struct dgi_rows *rows, dg_id id, dg_error *err)
{
	if (id < 0 || id >= rows->cut.n_rows)
		return dgi_fail(err, DG_RANGE, "row %" PRId64 ", there are %" PRId64 " rows", id,
				rows->cut.n_rows);
	return dgi_rows_verify(table, rows, dgi_divide(&rows->cut.by_rows, (uint64_t)id), err);
}

/* Finds row @id; false where prepare_row() has to see it first. */
static inline bool look_up(const struct dgi_table *table, size_t first_entry,
			   const struct dgi_cut *cut, dg_id id, struct found *out)
{
	const struct dgi_table_entry *entry;
	const uint8_t *chunk_rows;
	uint64_t chunk, location;

	if ((uint64_t)id >= (uint64_t)cut->n_rows)
		return false;
	chunk = dgi_divide(&cut->by_rows, (uint64_t)id);
	entry = &table->entries[first_entry + chunk];
	out->entry = entry;
	out->sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
	location = atomic_load_explicit(&entry->location, memory_order_acquire);
	if (!(location & VERIFIED))
		return false;
	/* The map is looked up after the location, which it therefore covers. */
	if (location & HOT)
		chunk_rows = dgi_slot_at(table->segments, (uint32_t)(location & PLACE));
	else
		chunk_rows = value_at(table, location) + DGI_RECORD_HEADER_BYTES;
	out->source = chunk_rows + ((uint64_t)id - chunk * cut->chunk_rows) * cut->row_bytes;
	return true;
}

static dg_status look_up_prepared(struct dgi_table *table, const struct dgi_rows *rows, dg_id id,
				  struct found *out, dg_error *err)
{
	dg_status st = DG_OK;

	while (!st && !look_up(table, rows->first_entry, &rows->cut, id, out))
		st = prepare_row(table, rows, id, err);
	return st;
}

static inline void prefetch_row(const uint8_t *row, size_t n)
{
	if (n > PREFETCH_BYTES)
		n = PREFETCH_BYTES;
	for (size_t at = 0; at < n; at += LINE_BYTES)
		__builtin_prefetch(row + at);
}

/* Copies one row once; *moved: it has to be copied again. */
static dg_status gather_once(struct dgi_table *table, const struct dgi_rows *rows, dg_id id,
			     uint8_t *out, bool *moved, dg_error *err)
{
	struct found row;
	dg_status st = look_up_prepared(table, rows, id, &row, err);

	if (st)
		return st;
	copy_bytes(out, row.source, rows->cut.row_bytes);
	atomic_thread_fence(memory_order_acquire);
	*moved = has_moved(row.entry, row.sequence);
	return DG_OK;
}

/* A row whose chunk moved while it was copied: again, at last with the entries held still. */
static dg_status gather_again(struct dgi_table *table, const struct dgi_rows *rows, dg_id id,
			      uint8_t *out, dg_error *err)
{
	bool moved = true;
	dg_status st = DG_OK;

	for (int i = 0; i < TRIES && !st && moved; i++)
		st = gather_once(table, rows, id, out, &moved, err);
	if (st || !moved)
		return st;
	lock_as_reader(table);
	st = gather_once(table, rows, id, out, &moved, err);
	(void)pthread_mutex_unlock(&table->lock);
	return st;
}

/* Rows [first, end), copied already: again those whose chunks have moved. */
static __attribute__((noinline)) dg_status mend_group(struct dgi_table *table,
						      const struct dgi_rows *rows, const dg_id *ids,
						      size_t first, size_t end, uint8_t *out,
						      const struct found *ring, dg_error *err)
{
	bool moved[GROUP_ROWS];
	dg_status st = DG_OK;

	for (size_t i = first; i < end; i++)
		moved[i - first] =
			has_moved(ring[i % RING_ROWS].entry, ring[i % RING_ROWS].sequence);
	for (size_t i = first; i < end && !st; i++)
		if (moved[i - first])
			st = gather_again(table, rows, ids[i], out + i * rows->cut.row_bytes, err);
	return st;
}

/*
 * Looks up each row some rows before it is copied, so that memory is on its way meanwhile, and
 * checks the rows of a group together. Inlined with a constant @row_bytes for usual short rows.
 */
static inline __attribute__((always_inline)) dg_status
gather_rows(struct dgi_table *table, const struct dgi_rows *rows, const dg_id *ids, size_t n,
	    uint8_t *out, size_t row_bytes, dg_error *err)
{
	struct dgi_cut cut = rows->cut; /* nobody changes the copy: it stays in registers */
	const size_t first_entry = rows->first_entry;
	const size_t ahead = row_bytes <= SHORT_ROW_BYTES ? SHORT_ROWS_AHEAD : ROWS_AHEAD;
	size_t found = 0; /* rows looked up */
	struct found ring[RING_ROWS];
	dg_status st;

	cut.row_bytes = (uint32_t)row_bytes; /* a constant, for usual rows */
	for (size_t first = 0; first < n; first += GROUP_ROWS) {
		size_t end = n - first < GROUP_ROWS ? n : first + GROUP_ROWS;
		uint64_t moved = 0;

		for (size_t i = first; i < end; i++) {
			const struct found *row = &ring[i % RING_ROWS];

			for (; found < n && found <= i + ahead; found++) {
				struct found *next = &ring[found % RING_ROWS];

				if (!look_up(table, first_entry, &cut, ids[found], next)) {
					st = look_up_prepared(table, rows, ids[found], next, err);
					if (st)
						return st;
				}
				prefetch_row(next->source, row_bytes);
			}
			copy_bytes(out + i * row_bytes, row->source, row_bytes);
			atomic_thread_fence(memory_order_acquire);
			moved |= has_moved(row->entry, row->sequence);
		}
		if (moved) {
			st = mend_group(table, rows, ids, first, end, out, ring, err);
			if (st)
				return st;
		}
	}
	return DG_OK;
}

dg_status dgi_rows_gather(struct dgi_table *table, const struct dgi_rows *rows, const dg_id *ids,
			  size_t n, void *out, dg_error *err)
{
	switch (rows->cut.row_bytes) {
	case 1:
		return gather_rows(table, rows, ids, n, out, 1, err);
	case 4:
		return gather_rows(table, rows, ids, n, out, 4, err);
	case 8:
		return gather_rows(table, rows, ids, n, out, 8, err);
	case 64:
		return gather_rows(table, rows, ids, n, out, 64, err);
	case 128:
		return gather_rows(table, rows, ids, n, out, 128, err);
	default:
		return gather_rows(table, rows, ids, n, out, rows->cut.row_bytes, err);
	}
}

void dgi_rows_copy_chunk(const struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			 void *out)
{
	const struct dgi_table_entry *entry = &table->entries[rows->first_entry + chunk];
	uint64_t location = atomic_load_explicit(&entry->location, memory_order_acquire);

	const uint8_t *from = location & HOT
				      ? dgi_slot_at(table->segments, (uint32_t)(location & PLACE))
				      : value_at(table, location) + DGI_RECORD_HEADER_BYTES;

	DGI_ASSERT(location & VERIFIED);
	/* Nobody writes to @from now; but somebody may still be copying from what @out was before. */
	store_bytes(out, from, (size_t)dgi_cut_rows(&rows->cut, chunk) * rows->cut.row_bytes);
}
