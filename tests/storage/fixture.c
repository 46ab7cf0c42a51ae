/* fixture.c -- a small store whose every byte can be computed. */
#include "test.h"

#include "fixture.h"

#include "bytes.h"
#include "files.h"
#include "make.h"
#include "rng.h"
#include "uuid.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct filling {
	uint32_t tensor;
	size_t row_bytes;
};

void fixture_row(uint32_t tensor, int64_t row, uint64_t version, void *out, size_t row_bytes)
{
	struct dgi_rng rng = dgi_rng_of(tensor * UINT64_C(1000) + version, (uint64_t)row);
	uint8_t *at = out;

	for (size_t i = 0; i < row_bytes; i += 8) {
		uint64_t value = dgi_rng_next(&rng);

		memcpy(at + i, &value, row_bytes - i < 8 ? row_bytes - i : 8);
	}
}

int32_t fixture_element(int64_t index)
{
	struct dgi_rng rng = dgi_rng_of(77, (uint64_t)index);

	return (int32_t)dgi_rng_next(&rng);
}

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct filling *f = context;

	(void)err;
	for (int64_t i = 0; i < n; i++)
		fixture_row(f->tensor, first + i, 0, (uint8_t *)out + (size_t)i * f->row_bytes,
			    f->row_bytes);
	return DG_OK;
}

static dg_status fill_elements(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	int32_t *to = out;

	(void)context;
	(void)err;
	for (int64_t i = 0; i < n; i++)
		to[i] = fixture_element(first + i);
	return DG_OK;
}

static void make_tensor(struct dgi_volume_maker *maker, uint32_t id, const char *name,
			dg_dtype dtype, int64_t width, int64_t n_rows)
{
	dg_tensor_info info = { .id = id, .dtype = dtype, .n_rows = n_rows };
	struct filling f = { .tensor = id };
	dg_error err = { 0 };

	(void)snprintf(info.name, sizeof info.name, "%s", name);
	if (width > 0) {
		info.rank = 1;
		info.shape[0] = width;
	}
	if (id == FIXTURE_SYSTEM)
		info.flags = DG_TENSOR_SYSTEM;
	f.row_bytes = dg_dtype_bytes(dtype) * (size_t)(width > 0 ? width : 1);
	assert_ok(dgi_volume_maker_tensor(maker, &info, fill_rows, &f, &err), &err);
}

static struct dgi_volume_maker *begin_store(const char *path, uint32_t part)
{
	struct dgi_superblock s = { .part = part, .n_parts = 4 };
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };

	assert_ok(dgi_uuid_new(&s.store_uuid, &err), &err);
	assert_ok(dgi_uuid_parse("00112233-4455-6677-8899-aabbccddeeff", &s.cluster_uuid, &err),
		  &err);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(dgi_volume_make(path, &s, FIXTURE_BOOK, strlen(FIXTURE_BOOK), &maker, &err),
		  &err);
	return maker;
}

void fixture_make(const char *path, uint32_t part)
{
	struct dgi_volume_maker *maker = begin_store(path, part);
	dg_error err = { 0 };

	dgi_volume_maker_set_segment_bytes(maker, FIXTURE_SEGMENT_BYTES);
	assert_ok(dgi_volume_maker_array(maker, 0, DG_GRAPH_INDICES, DG_INT32, FIXTURE_ELEMENTS,
					 fill_elements, NULL, &err),
		  &err);
	assert_ok(dgi_volume_maker_array(maker, 5, DG_GRAPH_INDPTR, DG_INT64, 0, fill_elements,
					 NULL, &err),
		  &err);
	make_tensor(maker, FIXTURE_LABEL, "label", DG_UINT8, 0, FIXTURE_ROWS);
	make_tensor(maker, FIXTURE_FEAT, "feat", DG_FLOAT32, 128, FIXTURE_ROWS);
	make_tensor(maker, FIXTURE_WIDE, "wide", DG_INT8, 100000, FIXTURE_WIDE_ROWS);
	make_tensor(maker, FIXTURE_EMPTY, "empty", DG_FLOAT64, 3, 0);
	make_tensor(maker, FIXTURE_SYSTEM, "_ORIGINAL_ID", DG_INT64, 0, 10);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
}

void fixture_make_one(const char *path, int64_t row_bytes, int64_t n_rows)
{
	struct dgi_volume_maker *maker = begin_store(path, 0);
	dg_error err = { 0 };

	make_tensor(maker, FIXTURE_FEAT, "feat", DG_UINT8, row_bytes, n_rows);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
}

void fixture_expect_rows(struct dgi_volume *volume, uint32_t tensor, const dg_id *rows, size_t n,
			 uint64_t version)
{
	const dg_tensor_info *info = dgi_volume_tensor(volume, tensor);
	uint8_t *got = malloc(n * info->row_bytes + 1);
	uint8_t *wanted = malloc(info->row_bytes);
	dg_error err = { 0 };

	assert_non_null(got);
	assert_non_null(wanted);
	assert_ok(dgi_volume_gather(volume, tensor, rows, n, got, &err), &err);
	for (size_t i = 0; i < n; i++) {
		fixture_row(tensor, rows[i], version, wanted, info->row_bytes);
		if (memcmp(got + i * info->row_bytes, wanted, info->row_bytes) != 0)
			fail_msg("row %lld of tensor %u is not version %llu", (long long)rows[i],
				 tensor, (unsigned long long)version);
	}
	free(got);
	free(wanted);
}

dg_status fixture_write(struct dgi_volume *volume, uint32_t tensor, const dg_id *rows, size_t n,
			uint64_t version, dg_error *err)
{
	const dg_tensor_info *info = dgi_volume_tensor(volume, tensor);
	uint8_t *data = malloc(n * info->row_bytes + 1);
	struct dgi_write write = { .tensor = tensor, .rows = rows, .n = n, .data = data };

	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		fixture_row(tensor, rows[i], version, data + i * info->row_bytes, info->row_bytes);
	assert_ok(dgi_volume_write(volume, &write, 1, err), err);
	*err = write.error;
	free(data);
	return write.status;
}

static char *path_of(const char *directory, const char *file)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", directory, file) >= 0);
	return path;
}

uint8_t *fixture_load(const char *directory, const char *file, size_t *n)
{
	char *path = path_of(directory, file);
	char *data;
	dg_error err = { 0 };

	assert_ok(dgi_file_read(path, SIZE_MAX / 2, &data, n, &err), &err);
	free(path);
	return (uint8_t *)data;
}

void fixture_save(const char *directory, const char *file, const void *data, size_t n)
{
	char *path = path_of(directory, file);
	dg_error err = { 0 };

	assert_ok(dgi_file_replace(path, data, n, &err), &err);
	free(path);
}

uint8_t *fixture_find_record(uint8_t *data, size_t n, uint16_t kind, size_t number)
{
	for (size_t at = 0; at + 48 <= n; at++)
		if (memcmp(data + at, "DGR1", 4) == 0 && dgi_get_u16(data + at + 4) == kind &&
		    number-- == 0)
			return data + at;
	fail_msg("no record of kind %u", kind);
	return NULL;
}
