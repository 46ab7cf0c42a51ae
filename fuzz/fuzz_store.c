/*
 * A small store, some bytes of its records changed and their checksums made to hold again: opened or
 * refused, never a crash; what opens is read or refused row by row, and within its bounds.
 *
 * Input: patches of 6 bytes: file (0 graph, 1 tensors, 2 journal), record, u16 offset in its value, the
 * byte's new value, and whether the checksum shall stay as it is (odd).
 */
#include "bytes.h"
#include "files.h"
#include "mark.h"
#include "record.h"
#include "segment.h"
#include "uuid.h"
#include "volume.h"
#include "walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FILES 3
#define RECORDS_MAX 64
#define ROWS_READ 4096 /* of each tensor */
#define PATCH_BYTES 6
#define ROWS 20
#define FILE_BYTES_MAX (1U << 20)

struct place {
	struct dgi_key key;
	uint64_t value_at;
	uint64_t value_bytes;
};

/* The store as it was made, in memory. */
static struct file {
	const char *name;
	char *data;
	size_t n;
	struct place records[RECORDS_MAX];
	size_t n_records;
	uint8_t *patched; /* … and as the input wants it */
} files[FILES] = { { .name = DGI_GRAPH_FILE },
		   { .name = DGI_TENSORS_FILE },
		   { .name = DGI_JOURNAL_FILE } };

static char directory[] = "/tmp/distgraph-fuzz-XXXXXX";
static const dg_uuid uuid = { { 7 } };

static void must(dg_status status)
{
	if (status != DG_OK)
		abort();
}

/* --- The store --- */

static dg_status fill(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	size_t element_bytes = *(const size_t *)context;

	(void)err;
	memset(out, (int)first, (size_t)n * element_bytes);
	return DG_OK;
}

static void make(void)
{
	static const dg_tensor_info infos[] = {
		{ .id = 1, .name = "a", .dtype = DG_FLOAT32, .n_rows = ROWS, .chunk_rows = 8 },
		{ .id = 2,
		  .name = "b",
		  .dtype = DG_INT8,
		  .n_rows = ROWS,
		  .group = 2,
		  .chunk_rows = 8 },
		{ .id = 3,
		  .name = "c",
		  .dtype = DG_BOOL,
		  .n_rows = ROWS,
		  .group = 2,
		  .chunk_rows = 8 },
		{ .id = 4, .name = "d", .side = DG_EDGE, .dtype = DG_FLOAT64 },
	};
	const struct dgi_superblock superblock = { .store_uuid = uuid,
						   .cluster_uuid = uuid,
						   .n_parts = 1 };
	struct dgi_volume_maker *maker;
	size_t bytes = 4;

	must(dgi_volume_make(directory, &superblock, "book", 4, &maker, NULL));
	must(dgi_volume_maker_array(maker, 0, DG_GRAPH_INDICES, DG_INT32, 30, fill, &bytes, NULL));
	for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++) {
		dg_tensor_info info = infos[i];

		info.chunk_pages = 1;
		bytes = dg_dtype_bytes(info.dtype);
		must(dgi_volume_maker_tensor(maker, &info, fill, &bytes, NULL));
	}
	must(dgi_volume_maker_close(maker, true, NULL));
}

/* Pushes, a checkpoint in between, and takes the files as a killed server would leave them. */
static void live(void)
{
	static const dg_id rows[] = { 1, 9, 9, 19 };
	static const uint8_t data[32] = { 1, 2, 3 };
	const struct dgi_volume_options options = { .writable = true };
	struct dgi_write writes[] = {
		{ .tensor = 1, .rows = rows, .n = 4, .data = data, .session = uuid, .number = 1 },
		{ .tensor = 2, .op = DG_OP_ADD, .fill = true, .rows = rows, .n = 2, .data = data },
		{ .tensor = 3, .op = DG_OP_MAX, .rows = rows, .n = 4, .data = data },
	};
	struct dgi_volume *volume;

	must(dgi_volume_open(directory, &options, &volume, NULL));
	must(dgi_volume_write(volume, writes, 1, NULL));
	must(dgi_volume_checkpoint(volume, 10000, NULL));
	must(dgi_volume_write(volume, writes + 1, 2, NULL));
	for (size_t i = 0; i < FILES; i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "%s/%s", directory, files[i].name);
		must(dgi_file_read(path, FILE_BYTES_MAX, &files[i].data, &files[i].n, NULL));
	}
	dgi_volume_close(volume);
}

static dg_status note_record(void *context, const struct dgi_walk_record *record, dg_error *err)
{
	struct file *file = context;
	struct place *place = &file->records[file->n_records++];

	if (file->n_records == RECORDS_MAX)
		abort();
	place->value_at = record->value_at;
	place->value_bytes = record->value_bytes;
	return dgi_key_decode(record->key, record->key_bytes, &place->key, err);
}

/* Writes one file of the store's directory. */
static int put_file(const char *name, const void *data, size_t n)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	return fd;
}

/* A mark that no store is older than. */
static void put_mark(void)
{
	const struct dgi_mark mark = { .clean = true };
	uint8_t slots[2 * DGI_MARK_SLOT_BYTES];

	dgi_mark_encode(&mark, 0, &uuid, slots);
	dgi_mark_encode(&mark, 1, &uuid, slots + DGI_MARK_SLOT_BYTES);
	(void)close(put_file(DGI_MARK_FILE, slots, sizeof slots));
}

static void remove_directory(void)
{
	(void)dgi_tree_remove(directory, NULL);
}

static void begin(void)
{
	struct dgi_walk_options options = { .file_name = "f" };
	struct dgi_walk_report report;

	if (!mkdtemp(directory) || atexit(remove_directory) != 0)
		abort();
	make();
	live();
	put_mark();
	for (size_t i = 0; i < FILES; i++) {
		int fd = put_file(files[i].name, files[i].data, files[i].n);

		must(dgi_walk(fd, &options, note_record, &files[i], &report, NULL));
		(void)close(fd);
		files[i].patched = malloc(files[i].n);
		if (!files[i].patched)
			abort();
		memcpy(files[i].patched, files[i].data, files[i].n);
	}
}

/* --- An input --- */

/* Makes a record's checksum hold again. */
static void seal(struct file *file, const struct place *place)
{
	uint8_t *value = file->patched + place->value_at;
	uint64_t payload_bytes = dgi_get_u64(value + 8);
	uint64_t seed;

	if (payload_bytes > place->value_bytes - DGI_RECORD_HEADER_BYTES)
		return;
	if (place->key.kind == DGI_KIND_SEGMENT) {
		struct dgi_segment_layout layout = dgi_segment_layout_of(payload_bytes);

		if (layout.value_bytes == place->value_bytes)
			dgi_segment_seal(value, &layout, &uuid, &place->key,
					 dgi_get_u64(value + 32));
		return;
	}
	seed = dgi_record_seed(place->key.kind == DGI_KIND_SUPERBLOCK ? NULL : &uuid, &place->key,
			       value);
	dgi_put_u64(value + 24, XXH3_64bits_withSeed(value + DGI_RECORD_HEADER_BYTES,
						     (size_t)payload_bytes, seed));
}

static void patch(const uint8_t *at, bool *changed)
{
	struct file *file = &files[at[0] % FILES];
	const struct place *place = &file->records[at[1] % file->n_records];
	uint64_t offset = dgi_get_u16(at + 2) % place->value_bytes;

	file->patched[place->value_at + offset] = at[4];
	if (!(at[5] & 1))
		seal(file, place);
	changed[file - files] = true;
}

static void read_all(struct dgi_volume *volume)
{
	static uint8_t row[DG_ROW_BYTES_MAX];
	size_t n = 0;
	dg_tensor_info *infos = NULL;
	dg_dtype dtype;
	int64_t elements;

	if (dgi_volume_list(volume, &infos, &n, NULL) != DG_OK)
		abort();
	/* A tensor whose chunks need not be there may claim very many rows. */
	for (size_t i = 0; i < n; i++)
		for (dg_id at = 0; at < infos[i].n_rows && at < ROWS_READ; at++)
			(void)dgi_volume_gather(volume, infos[i].id, &at, 1, row, NULL);
	free(infos);
	if (dgi_volume_array(volume, 0, DG_GRAPH_INDICES, &dtype, &elements, NULL) == DG_OK)
		for (int64_t at = 0; at < elements; at++)
			(void)dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, at, 1, row, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool begun;
	bool changed[FILES] = { false };
	struct dgi_volume *volume;

	if (!begun)
		begin();
	begun = true;
	for (; n >= PATCH_BYTES; data += PATCH_BYTES, n -= PATCH_BYTES)
		patch(data, changed);
	for (size_t i = 0; i < FILES; i++)
		if (changed[i])
			(void)close(put_file(files[i].name, files[i].patched, files[i].n));
	if (dgi_volume_open(directory, NULL, &volume, NULL) == DG_OK) {
		read_all(volume);
		dgi_volume_close(volume);
	}
	for (size_t i = 0; i < FILES; i++)
		if (changed[i]) {
			memcpy(files[i].patched, files[i].data, files[i].n);
			(void)close(put_file(files[i].name, files[i].data, files[i].n));
		}
	return 0;
}
