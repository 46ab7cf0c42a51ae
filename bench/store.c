/* store.c -- a store of one tensor to measure on. */
#include "store.h"

#include "harness.h"

#include "inside.h"
#include "rng.h"
#include "uuid.h"

#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAT_ROWS 4096 /* of one fill */

void bench_rows(int64_t first, int64_t n, size_t row_bytes, void *out)
{
	uint64_t *to = out;

	for (int64_t row = first; row < first + n; row++)
		for (size_t i = 0; i < row_bytes / 8; i++)
			*to++ = (uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) + i;
}

static dg_status fill(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	(void)err;
	bench_rows(first, n, *(const size_t *)context, out);
	return DG_OK;
}

static void must(dg_status st, const dg_error *err)
{
	if (st)
		bench_fail("%s", err->text);
}

char *bench_store_make(size_t row_bytes, int64_t n_rows)
{
	const char *base = getenv("TMPDIR");
	struct dgi_superblock s = { .n_parts = 1 };
	dg_tensor_info info = { .id = BENCH_TENSOR,
				.name = "t",
				.dtype = DG_UINT8,
				.rank = 1,
				.shape = { (int64_t)row_bytes },
				.n_rows = n_rows };
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };
	char *dir, *path;

	if (asprintf(&dir, "%s/distgraph-bench-XXXXXX", base ? base : "/tmp") < 0 ||
	    !mkdtemp(dir) || asprintf(&path, "%s/part0", dir) < 0 || mkdir(path, 0700) != 0)
		bench_fail("no directory for a store");
	must(dgi_uuid_new(&s.store_uuid, &err), &err);
	s.cluster_uuid = s.store_uuid;
	must(dgi_volume_make(path, &s, "", 0, &maker, &err), &err);
	must(dgi_volume_maker_tensor(maker, &info, fill, &row_bytes, &err), &err);
	must(dgi_volume_maker_close(maker, true, &err), &err);
	free(dir);
	return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void bench_store_remove(char *path)
{
	(void)nftw(dirname(path), remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

struct dgi_volume *bench_store_open(const char *path, const struct dgi_volume_options *options)
{
	const struct dgi_volume_options writable = { .writable = true };
	struct dgi_volume *volume;
	dg_error err = { 0 };

	must(dgi_volume_open(path, options ? options : &writable, &volume, &err), &err);
	return volume;
}

void bench_store_heat(struct dgi_volume *volume)
{
	const dg_tensor_info *info = dgi_volume_tensor(volume, BENCH_TENSOR);
	void *zeros = calloc(1, info->row_bytes);
	dg_error err = { 0 };

	if (!zeros)
		bench_fail("out of memory");
	for (int64_t first = 0; first < info->n_rows; first += HEAT_ROWS) {
		int64_t left = info->n_rows - first;
		const dg_id run[2] = { first, left < HEAT_ROWS ? left : HEAT_ROWS };
		struct dgi_write write = { .tensor = BENCH_TENSOR,
					   .op = DG_OP_ADD,
					   .fill = true,
					   .rows = run,
					   .n = 2,
					   .data = zeros };

		must(dgi_volume_write(volume, &write, 1, &err), &err);
		must(write.status, &write.error);
	}
	free(zeros);
}

void bench_draw(uint64_t seed, int64_t n_rows, int64_t step, int64_t offset, dg_id *out, size_t n)
{
	struct dgi_rng rng = dgi_rng_of(seed, 0);

	for (size_t i = 0; i < n; i++)
		out[i] = (dg_id)dgi_rng_below(&rng, (uint64_t)(n_rows / step)) * step + offset;
}

void *bench_memory(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory)
		bench_fail("out of memory");
	memset(memory, 1, bytes);
	return memory;
}

double bench_argument(int argc, char **argv, int index, double fallback)
{
	char *end;
	double value;

	if (index >= argc)
		return fallback;
	value = strtod(argv[index], &end);
	if (*end || end == argv[index] || !(value > 0))
		bench_fail("'%s' is no positive number", argv[index]);
	return value;
}
