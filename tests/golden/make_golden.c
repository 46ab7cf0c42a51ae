/*
 * make_golden.c -- makes the stores of tests/golden/v1, the same each time.
 *
 *     make_golden DIRECTORY
 *
 * `journaled` is what a server leaves that was killed twice, the first time between two transactions of
 * a checkpoint: images of different log numbers, and a journal with every operation on every dtype.
 * `under_way` has large fills of which some parts are applied. `grown` has tensors that were created and dropped later. `closed` was closed cleanly after a push whose entry spanned blocks.
 * `named` has outside ids: integers of one node type, strings of another, none of a third.
 */
#include "book.h"
#include "bytes.h"
#include "chunk.h"
#include "env.h"
#include "large.h"
#include "make.h"
#include "ops.h"
#include "outside.h"
#include "record.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARTS 2
#define AUTHORS 30
#define PAPERS 20
#define WRITES 40
#define SEGMENT_BYTES 128 /* so that arrays have several segments */
#define CHECKPOINT_MS 20000
#define ROW_BYTES_MAX 128
#define ROWS_MAX 64

enum tensor {
	FEAT = 1,
	FLAG,
	I8,
	I16,
	I32,
	I64,
	U8,
	HALF,
	BRAIN,
	DOUBLE,
	NOTHING,
	ORIGINAL,
	INTERNAL,
	EMB,
	EMB_SUM,
	SCORE,
	SCRATCH,
};

static const dg_tensor_info tensors[] = {
	{ .id = FEAT,
	  .name = "feat",
	  .dtype = DG_FLOAT32,
	  .rank = 1,
	  .shape = { 3 },
	  .chunk_rows = 8 },
	{ .id = FLAG, .name = "flag", .dtype = DG_BOOL },
	{ .id = I8, .name = "i8", .dtype = DG_INT8, .rank = 2, .shape = { 2, 3 } },
	{ .id = I16, .name = "i16", .type = 1, .dtype = DG_INT16 },
	{ .id = I32, .name = "i32", .type = 1, .dtype = DG_INT32, .chunk_rows = 9 },
	{ .id = I64, .name = "i64", .type = 1, .dtype = DG_INT64 },
	{ .id = U8, .name = "u8", .type = 1, .dtype = DG_UINT8, .rank = 1, .shape = { 5 } },
	{ .id = HALF, .name = "half", .type = 1, .dtype = DG_FLOAT16, .rank = 1, .shape = { 8 } },
	{ .id = BRAIN,
	  .name = "brain",
	  .type = 1,
	  .dtype = DG_BFLOAT16,
	  .rank = 1,
	  .shape = { 8 } },
	{ .id = DOUBLE,
	  .name = "double",
	  .type = 1,
	  .dtype = DG_FLOAT64,
	  .rank = 1,
	  .shape = { 2 } },
	{ .id = NOTHING, .name = "nothing", .side = DG_EDGE, .type = 1, .dtype = DG_FLOAT32 },
	{ .id = ORIGINAL,
	  .name = DG_TENSOR_ORIGINAL_ID,
	  .dtype = DG_INT64,
	  .flags = DG_TENSOR_SYSTEM },
	{ .id = INTERNAL,
	  .name = DG_TENSOR_INTERNAL_ID,
	  .numbering = DG_ORIGINAL,
	  .dtype = DG_INT64,
	  .flags = DG_TENSOR_SYSTEM },
	{ .id = EMB,
	  .name = "größe",
	  .type = 1,
	  .dtype = DG_FLOAT32,
	  .rank = 1,
	  .shape = { 32 },
	  .group = EMB,
	  .chunk_rows = 7 },
	{ .id = EMB_SUM,
	  .name = "größe_sum",
	  .type = 1,
	  .dtype = DG_FLOAT32,
	  .group = EMB,
	  .chunk_rows = 7 },
	{ .id = SCORE,
	  .name = "score",
	  .side = DG_EDGE,
	  .dtype = DG_FLOAT32,
	  .durability = DG_DURABLE_INTERVAL,
	  .interval_ms = 1 },
	{ .id = SCRATCH,
	  .name = "scratch",
	  .type = 1,
	  .dtype = DG_INT32,
	  .durability = DG_DURABLE_MEMORY },
};

#define N_TENSORS (sizeof tensors / sizeof tensors[0])

static void must(dg_status status, const dg_error *err)
{
	if (status == DG_OK)
		return;
	fprintf(stderr, "make_golden: %s\n", err->text);
	exit(1);
}

/* --- Values --- */

/* A finite number that is not 0, of plain size or of any; no sum or product of such is NaN. */
static double number(struct dgi_rng *rng)
{
	int32_t numerator = (int32_t)dgi_rng_next(rng);
	uint64_t scale = dgi_rng_next(rng) % 60;

	if (numerator == 0)
		numerator = 1;
	if (dgi_rng_next(rng) % 2)
		return (double)numerator * 0x1p-26; /* -32 to 32, more digits than float has */
	return (double)numerator * (scale < 30 ? 1.0 / (double)(UINT64_C(1) << (scale + 28))
					       : (double)(UINT64_C(1) << (scale - 30)) * 0x1p-40);
}

static void put_element(dg_dtype dtype, struct dgi_rng *rng, uint8_t *out)
{
	uint64_t bits = dgi_rng_next(rng);
	double wide = number(rng);
	float narrow = (float)wide;
	uint16_t half;

	switch (dtype) {
	case DG_BOOL:
		out[0] = (uint8_t)(bits % 3); /* 2 is true as well */
		break;
	case DG_FLOAT16:
		half = dgi_half_of_float(narrow);
		if ((half & 0x7c00) == 0x7c00) /* no infinities: infinity times 0 were NaN */
			half = 0x7bff;
		if ((half & 0x7fff) == 0)
			half |= 1;
		memcpy(out, &half, sizeof half);
		break;
	case DG_BFLOAT16:
		half = dgi_bfloat_of_float(narrow);
		memcpy(out, &half, sizeof half);
		break;
	case DG_FLOAT32:
		memcpy(out, &narrow, sizeof narrow);
		break;
	case DG_FLOAT64:
		memcpy(out, &wide, sizeof wide);
		break;
	default: /* little-endian, as all this runs on */
		memcpy(out, &bits, dg_dtype_bytes(dtype));
		break;
	}
}

static void put_rows(const dg_tensor_info *info, uint64_t seed, int64_t first, int64_t n, void *out)
{
	struct dgi_rng rng;
	uint8_t *at = out;
	size_t element_bytes = dg_dtype_bytes(info->dtype);
	size_t n_elements = 1;

	for (uint32_t i = 0; i < info->rank; i++)
		n_elements *= (size_t)info->shape[i];
	for (int64_t row = first; row < first + n; row++) {
		rng = dgi_rng_of(seed * 1000 + info->id, (uint64_t)row);
		for (size_t i = 0; i < n_elements; i++, at += element_bytes)
			put_element(info->dtype, &rng, at);
	}
}

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const dg_tensor_info *info = context;
	int64_t *ids = out;

	(void)err;
	if (!(info->flags & DG_TENSOR_SYSTEM))
		put_rows(info, 0, first, n, out);
	for (int64_t i = 0; i < n && info->flags & DG_TENSOR_SYSTEM; i++)
		ids[i] = first + i;
	return DG_OK;
}

/* --- Making a store --- */

static dg_status fill_array(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct array {
		bool wide;
		int64_t step, limit;
	} *array = context;
	int32_t *narrow = out;
	int64_t *wide = out;

	(void)err;
	for (int64_t i = 0; i < n; i++) {
		int64_t value = (first + i) * array->step % array->limit;

		if (array->wide)
			wide[i] = value;
		else
			narrow[i] = (int32_t)value;
	}
	return DG_OK;
}

static void make_array(struct dgi_volume_maker *maker, uint16_t etype, dg_graph_array kind,
		       bool wide, int64_t n, int64_t step, int64_t limit)
{
	struct {
		bool wide;
		int64_t step, limit;
	} array = { wide, step, limit };
	dg_error err = { 0 };

	must(dgi_volume_maker_array(maker, etype, (uint8_t)kind, wide ? DG_INT64 : DG_INT32, n,
				    fill_array, &array, &err),
	     &err);
}

/* Two edges into each paper; no citations in part 0. */
static void make_arrays(struct dgi_volume_maker *maker, uint32_t part)
{
	if (part != 0)
		return;
	make_array(maker, 0, DG_GRAPH_INDPTR, true, PAPERS + 1, 2, 1000);
	make_array(maker, 0, DG_GRAPH_INDICES, false, WRITES, 7, 42);
	make_array(maker, 0, DG_GRAPH_OUT_DEGREES, false, AUTHORS, 1, 3);
	make_array(maker, 1, DG_GRAPH_INDPTR, true, PAPERS + 1, 0, 1);
	make_array(maker, 1, DG_GRAPH_INDICES, true, 0, 0, 1);
	make_array(maker, 1, DG_GRAPH_OUT_DEGREES, true, PAPERS, 1, 2);
}

static dg_book *make_book(void)
{
	static const char *const node_types[] = { "author", "paper" };
	static const struct dgi_edge_type_spec edge_types[] = { { "writes", 0, 1 },
								{ "cites", 1, 1 } };
	static const int64_t node_counts[] = { AUTHORS, 12, PAPERS, 15 };
	static const int64_t edge_counts[] = { WRITES, 9, 0, 4 };
	const struct dgi_book_spec spec = {
		.n_parts = PARTS,
		.n_node_types = 2,
		.n_edge_types = 2,
		.node_types = node_types,
		.edge_types = edge_types,
		.node_counts = node_counts,
		.edge_counts = edge_counts,
	};
	dg_book *book;
	dg_error err = { 0 };

	must(dgi_book_new(&spec, &book, &err), &err);
	return book;
}

static void make_store(const char *path, uint32_t part, size_t n_tensors)
{
	const struct dgi_superblock superblock = {
		.store_uuid = { { 0x60, 0x1d, part ? 2 : 1, 4, 5, 6, 0x47, 8, 0x89 } },
		.cluster_uuid = { { 0xc1, 2, 3, 4, 5, 6, 0x47, 8, 0x89 } },
		.part = part,
		.n_parts = PARTS,
	};
	dg_book *book = make_book();
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };
	uint8_t *bytes;
	size_t n;

	must(dgi_book_encode(book, &bytes, &n, &err), &err);
	if (mkdir(path, 0700) != 0) {
		perror(path);
		exit(1);
	}
	must(dgi_volume_make(path, &superblock, bytes, n, &maker, &err), &err);
	dgi_volume_maker_set_segment_bytes(maker, SEGMENT_BYTES);
	make_arrays(maker, part);
	for (size_t i = 0; i < n_tensors; i++) {
		dg_tensor_info info = tensors[i];
		dg_id start, end;

		dg_book_tensor_range(book, &info, part, &start, &end);
		info.n_rows = end - start;
		info.chunk_pages = 1;
		must(dgi_volume_maker_tensor(maker, &info, fill_rows, &info, &err), &err);
	}
	must(dgi_volume_maker_close(maker, true, &err), &err);
	free(bytes);
	dgi_book_free(book);
}

/* --- Pushing to it --- */

static struct dgi_volume *open_store(const char *path, bool writable)
{
	const struct dgi_volume_options options = {
		.writable = writable,
		.checkpoint_bytes = UINT64_C(1) << 40, /* none but those asked for */
	};
	struct dgi_volume *volume;
	dg_error err = { 0 };

	must(dgi_volume_open(path, &options, &volume, &err), &err);
	return volume;
}

/* Pushes that go to the journal as one group, so that it has few blocks. */
#define BATCH_MAX 160

struct batch {
	struct dgi_write writes[BATCH_MAX];
	uint8_t data[BATCH_MAX][ROWS_MAX * ROW_BYTES_MAX];
	size_t n;
};

static struct batch batch;

/* Adds a push of values made from @seed; a session of 0 is none. */
static void add(enum tensor tensor, dg_operation op, bool fill, const dg_id *rows, size_t n,
		uint8_t session, uint64_t push_number, uint64_t seed)
{
	struct dgi_write *write = &batch.writes[batch.n];

	if (batch.n == BATCH_MAX)
		abort();
	*write = (struct dgi_write){
		.tensor = tensor,
		.op = op,
		.fill = fill,
		.rows = rows,
		.n = n,
		.data = batch.data[batch.n],
		.number = push_number,
	};
	memset(write->session.bytes, session, sizeof write->session.bytes);
	put_rows(&tensors[tensor - 1], seed, 0, fill ? 1 : (int64_t)n, batch.data[batch.n++]);
}

/* Applies them and waits for the disk. @n_repeats of them count already. */
static void push_all(struct dgi_volume *volume, size_t n_repeats)
{
	dg_error err = { 0 };

	must(dgi_volume_write(volume, batch.writes, batch.n, &err), &err);
	for (size_t i = 0; i < batch.n; i++) {
		must(batch.writes[i].status, &batch.writes[i].error);
		n_repeats -= batch.writes[i].repeat;
	}
	if (n_repeats != 0) {
		fprintf(stderr, "make_golden: a push is a repeat, or is none, by mistake\n");
		exit(1);
	}
	batch.n = 0;
}

/* Everything that can be done to some of its rows, twice to some of them. */
static void add_everything(enum tensor tensor, uint64_t seed)
{
	static const dg_id rows[] = { 0, 3, 17, 3, 9, 12 };
	static const dg_id run[] = { 8, 6 };

	/* Not in the same order for all, so that none hides what another did. */
	for (unsigned i = 0; i < 5; i++) {
		dg_operation op = 1 + (tensor + i) % 5;

		add(tensor, op, false, rows + (int)op % 3, 4, 0, 0, seed + op);
		add(tensor, op, true, run, 2, 0, 0, seed + 10 + op);
	}
}

/* Rows 1, 2, 4, 5 of a tensor of 8 small floats become the smaller and the larger of two, their sum and
 * their product: zeros of both signs, subnormal numbers, ties, what is too large. */
static void add_edges(enum tensor tensor, const uint16_t first[8], const uint16_t second[8])
{
	static const dg_id rows[] = { 1, 2, 4, 5 };
	static const dg_operation ops[] = { DG_OP_MIN, DG_OP_MAX, DG_OP_ADD, DG_OP_MULTIPLY };

	for (size_t i = 0; i < 4; i++) {
		add(tensor, DG_OP_ASSIGN, false, &rows[i], 1, 0, 0, 0);
		memcpy(batch.data[batch.n - 1], first, 16);
		add(tensor, ops[i], false, &rows[i], 1, 0, 0, 0);
		memcpy(batch.data[batch.n - 1], second, 16);
	}
}

static void add_all_edges(void)
{
	static const uint16_t half_first[8] = { 0,	0x8000, 0x0001, 0x7bff,
						0x7bff, 0x0400, 0x3c01, 0x8001 };
	static const uint16_t half_second[8] = { 0x8000, 0,	 0x3800, 0x4c00,
						 0x4bff, 0x3801, 0x1000, 0x3c00 };
	static const uint16_t bfloat_first[8] = { 0,	  0x8000, 0x0001, 0x7f7f,
						  0x7f7f, 0x0080, 0x3f81, 0x8001 };
	static const uint16_t bfloat_second[8] = { 0x8000, 0,	   0x3f00, 0x7b00,
						   0x7aff, 0x3f01, 0x3b80, 0x3f80 };

	add_edges(HALF, half_first, half_second);
	add_edges(BRAIN, bfloat_first, bfloat_second);
}

/* Not a number: kept as it is, with what else has bits of its own. */
static void add_nan(void)
{
	static const dg_id row = 19;
	const float values[3] = { __builtin_nanf("5"), -0.0F, __builtin_inff() };

	add(FEAT, DG_OP_ASSIGN, false, &row, 1, 0, 0, 0);
	memcpy(batch.data[batch.n - 1], values, sizeof values);
}

static const dg_id many[] = { 0,  1,  2,  3,  4, 5, 6, 7, 8, 9,	 10, 11, 12, 13, 14, 15,
			      16, 17, 18, 19, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 1,  3 };

/* The first incarnation: a checkpoint, then more. Killed. */
static void live_once(const char *path)
{
	struct dgi_volume *volume = open_store(path, true);
	dg_error err = { 0 };

	add(EMB, DG_OP_ADD, false, many, 32, 1, 1, 100);
	add(EMB_SUM, DG_OP_MAX, false, many, 20, 1, 3, 101);
	add(FEAT, DG_OP_ASSIGN, false, many, 5, 2, 1, 102);
	push_all(volume, 0);
	must(dgi_volume_checkpoint(volume, CHECKPOINT_MS, &err), &err);
	add(EMB, DG_OP_ADD, false, many, 32, 1, 2, 103);
	add(EMB_SUM, DG_OP_MULTIPLY, false, many, 20, 1, 1, 0); /* a repeat */
	add(FEAT, DG_OP_ADD, false, many, 20, 2, 3, 104);
	add(I32, DG_OP_ADD, false, many, 20, 0, 0, 105);
	push_all(volume, 1);
	_exit(0);
}

/* The second: every operation on every dtype. Killed. */
static void live_again(const char *path)
{
	struct dgi_volume *volume = open_store(path, true);

	add(FEAT, DG_OP_ADD, false, many, 20, 2, 3, 0); /* a repeat, which counts once */
	for (enum tensor tensor = FEAT; tensor <= DOUBLE; tensor++)
		add_everything(tensor, 200 + 20 * (uint64_t)tensor);
	add_all_edges();
	add(SCRATCH, DG_OP_ASSIGN, false, many, 4, 0, 0, 300);
	add(SCORE, DG_OP_ADD, false, many, 20, 3, 1, 301);
	add(EMB, DG_OP_MIN, false, many, 3, 1, 67, 302);
	add(FLAG, DG_OP_ASSIGN, false, many, 1, 1, 66, 303);
	add_nan();
	push_all(volume, 1);
	_exit(0);
}

static void run_killed(void (*live)(const char *path), const char *path)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		live(path);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "make_golden: a life failed\n");
		exit(1);
	}
}

/* --- Half of a checkpoint --- */

/* The rows of a chunk as they are now, to be its image at the newest log number. */
static struct dgi_record read_chunk(const char *path, enum tensor tensor, uint64_t chunk,
				    uint8_t *payload)
{
	struct dgi_volume *volume = open_store(path, false);
	const dg_tensor_info *info = dgi_volume_tensor(volume, tensor);
	struct dgi_record record = { .kind = DGI_KIND_CHUNK, .version = DGI_RECORD_VERSION };
	dg_id rows[ROWS_MAX];
	dg_store_info about;
	dg_error err = { 0 };

	dgi_volume_get_info(volume, &about);
	record.log = about.log_number;
	for (dg_id row = (dg_id)chunk * info->chunk_rows;
	     row < (dg_id)(chunk + 1) * info->chunk_rows && row < info->n_rows; row++)
		rows[record.count++] = row;
	record.payload_bytes = record.count * info->row_bytes;
	must(dgi_volume_gather(volume, tensor, rows, record.count, payload, &err), &err);
	dgi_volume_close(volume);
	return record;
}

/* What a server leaves that was killed behind a slice with this chunk alone. */
static void fold_chunk(const char *path, enum tensor tensor, uint64_t chunk, uint64_t old_log)
{
	const dg_uuid uuid = { { 0x60, 0x1d, 1, 4, 5, 6, 0x47, 8, 0x89 } };
	const size_t value_bytes = dgi_value_bytes_of_pages(1);
	struct dgi_key key = { .kind = DGI_KIND_CHUNK, .tensor = tensor, .chunk = chunk };
	uint8_t payload[DGI_PAGE_BYTES] = { 0 };
	struct dgi_record record = read_chunk(path, tensor, chunk, payload);
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	struct dgi_env_value value;
	struct dgi_env *env;
	dg_error err = { 0 };
	char file[4096];

	(void)snprintf(file, sizeof file, "%s/tensors.mdb", path);
	must(dgi_env_open(file, false, UINT64_C(1) << 24, &env, &err), &err);
	must(dgi_env_begin(env, &err), &err);
	key.log = record.log;
	must(dgi_env_reserve(env, key_bytes, dgi_key_encode(&key, key_bytes), value_bytes, false,
			     &value, &err),
	     &err);
	memcpy(value.data + DGI_RECORD_HEADER_BYTES, payload,
	       value_bytes - DGI_RECORD_HEADER_BYTES);
	dgi_record_seal(value.data, &record, &uuid, &key, value.data + DGI_RECORD_HEADER_BYTES,
			record.payload_bytes);
	key.log = old_log;
	must(dgi_env_delete(env, key_bytes, dgi_key_encode(&key, key_bytes), &err), &err);
	must(dgi_env_commit(env, &err), &err);
	dgi_env_close(env, true);
}

static void make_journaled(const char *path)
{
	make_store(path, 0, N_TENSORS);
	run_killed(live_once, path);
	fold_chunk(path, EMB, 1, 3);
	fold_chunk(path, FEAT, 2, 0);
	run_killed(live_again, path);
}

static void make_closed(const char *path)
{
	struct dgi_volume *volume;

	make_store(path, 1, FLAG);
	volume = open_store(path, true);
	add(FEAT, DG_OP_MULTIPLY, false, many, 12, 5, 1, 400);
	add(FLAG, DG_OP_ADD, false, many, 12, 5, 2, 401);
	push_all(volume, 0);
	dgi_volume_close(volume);
}

/* --- A store whose tensors come and go --- */

#define LATE (SCRATCH + 1) /* with LATE + 1 in its group */
#define MINE (SCRATCH + 3)

static void create(struct dgi_volume *volume, const dg_tensor_info *infos, size_t n,
		   const char *owner, float value)
{
	dg_tensor_spec specs[2];
	dg_error err = { 0 };
	bool existed;

	for (size_t i = 0; i < n; i++) {
		specs[i] = (dg_tensor_spec){ .info = infos[i], .seed = 7 + i };
		memset(specs[i].uuid.bytes, (int)infos[i].id, sizeof specs[i].uuid.bytes);
		memcpy(specs[i].value, &value, sizeof value);
		specs[i].lifetime = owner ? DG_TEMPORARY : DG_PERSISTENT;
		(void)snprintf(specs[i].owner, sizeof specs[i].owner, "%s", owner ? owner : "");
		specs[i].info.n_rows = PAPERS;
		specs[i].info.type = 1;
	}
	must(dgi_volume_create(volume, specs, n, &existed, &err), &err);
}

static void add_floats(uint32_t tensor, dg_operation op, size_t n, size_t width, uint8_t session,
		       float value)
{
	static const dg_id rows[] = { 1, 8, 19 };
	struct dgi_write *write = &batch.writes[batch.n];
	float *at = (float *)(void *)batch.data[batch.n++];

	for (size_t i = 0; i < n * width; i++)
		at[i] = value + (float)i;
	*write = (struct dgi_write){ .tensor = tensor,
				     .op = op,
				     .rows = rows,
				     .n = n,
				     .data = at,
				     .number = session ? 1 : 0 };
	memset(write->session.bytes, session, sizeof write->session.bytes);
}

/* Killed with a tensor dropped, of which there are images and entries. */
static void live_and_drop(const char *path)
{
	static const dg_tensor_info late[] = {
		{ .id = LATE,
		  .name = "late",
		  .dtype = DG_FLOAT32,
		  .rank = 1,
		  .shape = { 4 },
		  .chunk_pages = 1,
		  .chunk_rows = 6 },
		{ .id = LATE + 1, .name = "late_sum", .dtype = DG_FLOAT32 },
	};
	static const dg_tensor_info mine[] = {
		{ .id = MINE, .name = "mine_job1", .dtype = DG_FLOAT32, .chunk_pages = 1 },
		{ .id = MINE + 1, .name = "gone_job1", .dtype = DG_FLOAT32, .chunk_pages = 1 },
	};
	struct dgi_volume *volume = open_store(path, true);
	dg_error err = { 0 };

	create(volume, late, 2, NULL, 1.5F);
	create(volume, &mine[0], 1, "job1", 0);
	create(volume, &mine[1], 1, "job1", -1);
	add_floats(LATE, DG_OP_ADD, 2, 4, 0, 1);
	add_floats(MINE + 1, DG_OP_ADD, 1, 1, 0, 2);
	push_all(volume, 0);
	must(dgi_volume_checkpoint(volume, CHECKPOINT_MS, &err), &err);
	add_floats(LATE, DG_OP_MULTIPLY, 3, 4, 0, 2);
	add_floats(LATE + 1, DG_OP_ADD, 3, 1, 0, 3);
	add_floats(MINE + 1, DG_OP_ADD, 3, 1, 6, 4);
	add(FEAT, DG_OP_ADD, false, many, 3, 0, 0, 500);
	push_all(volume, 0);
	must(dgi_volume_drop(volume, MINE + 1, &err), &err);
	must(dgi_volume_drop(volume, FEAT, &err), &err);
	_exit(0);
}

static void make_grown(const char *path)
{
	make_store(path, 0, FLAG);
	run_killed(live_and_drop, path);
}

/* --- A store with large operations under way --- */

/* The next parts of a write. */
static void apply_parts(struct dgi_volume *volume, struct dgi_write *whole, int n)
{
	struct dgi_large large;
	struct dgi_write part;
	dg_error err = { 0 };

	must(dgi_large_begin(&large, volume, whole, &err), &err);
	for (int i = 0; i < n && dgi_large_next(&large, &part); i++) {
		must(dgi_volume_apply(volume, &part, 1, &err), &err);
		if (!dgi_large_note(&large, &part))
			must(part.status, &part.error);
	}
}

static struct dgi_volume *open_in_parts(const char *path)
{
	const struct dgi_volume_options options = { .writable = true,
						    .checkpoint_bytes = UINT64_C(1) << 40,
						    .part_rows = 4 };
	struct dgi_volume *volume;
	dg_error err = { 0 };

	must(dgi_volume_open(path, &options, &volume, &err), &err);
	return volume;
}

/* Killed with one fill in the table, one in the journal, one in both. */
static void live_with_fills(const char *path)
{
	static const float values[3] = { 1, 2, 3 };
	static const uint8_t flag = 1;
	static const dg_id rows[] = { 2, 16 };
	struct dgi_volume *volume = open_in_parts(path);
	struct dgi_write fills[3];
	dg_error err = { 0 };

	for (uint8_t i = 0; i < 3; i++) {
		fills[i] = (struct dgi_write){ .tensor = i == 1 ? FLAG : FEAT,
					       .op = DG_OP_ADD,
					       .fill = true,
					       .rows = rows,
					       .n = 2,
					       .data = i == 1 ? (const void *)&flag : values,
					       .number = 1 };
		memset(fills[i].session.bytes, 0x70 + i, sizeof fills[i].session.bytes);
	}
	apply_parts(volume, &fills[0], 1);
	apply_parts(volume, &fills[1], 2);
	must(dgi_volume_checkpoint(volume, CHECKPOINT_MS, &err), &err);
	apply_parts(volume, &fills[1], 1);
	apply_parts(volume, &fills[2], 2);
	add(FEAT, DG_OP_ADD, false, many, 3, 6, 1, 600);
	push_all(volume, 0);
	_exit(0);
}

static void make_under_way(const char *path)
{
	make_store(path, 0, FLAG);
	run_killed(live_with_fills, path);
}

/* --- Outside ids --- */

#define NAMED 9 /* nodes of each type, in two parts */

/* Relabelled id i is original number 2 i modulo NAMED. */
static dg_status give_original(void *context, uint16_t type, int64_t first, size_t n, dg_id *out,
			       dg_error *err)
{
	(void)context;
	(void)type;
	(void)err;
	for (size_t i = 0; i < n; i++)
		out[i] = (first + (dg_id)i) * 2 % NAMED;
	return DG_OK;
}

static dg_status give_internal(void *context, uint16_t type, int64_t first, size_t n, dg_id *out,
			       dg_error *err)
{
	(void)context;
	(void)type;
	(void)err;
	for (size_t i = 0; i < n; i++)
		out[i] = (first + (dg_id)i) * 5 % NAMED;
	return DG_OK;
}

static void write_file(const char *path, const void *head, size_t n_head, const char *text)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(head, 1, n_head, file) != n_head ||
	    fwrite(text, 1, strlen(text), file) != strlen(text) || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static void make_named_store(const char *path, dg_book *book, struct dgi_outside_writer *writer)
{
	const struct dgi_superblock superblock = {
		.store_uuid = { { 0x60, 0x1d, 3, 4, 5, 6, 0x47 } },
		.cluster_uuid = { { 0xc1, 2, 3, 4, 5, 6, 0x47 } },
		.part = 1,
		.n_parts = PARTS,
		.incompatible = DGI_FEATURE_OUTSIDE_IDS
	};
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };
	uint8_t *bytes;
	size_t n;

	must(dgi_book_encode(book, &bytes, &n, &err), &err);
	if (mkdir(path, 0700) != 0) {
		perror(path);
		exit(1);
	}
	must(dgi_volume_make(path, &superblock, bytes, n, &maker, &err), &err);
	dgi_volume_maker_set_segment_bytes(maker, SEGMENT_BYTES);
	must(dgi_outside_ids_write(writer, 1, maker, &err), &err);
	must(dgi_volume_maker_close(maker, true, &err), &err);
	free(bytes);
}

static void make_named(const char *directory)
{
	static const char *const names[] = { "plain", "numbered", "called" };
	static const int64_t counts[] = { 4, 5, 3, 6, 2, 7 };
	static const struct dgi_book_spec spec = {
		.n_parts = PARTS, .n_node_types = 3, .node_types = names, .node_counts = counts
	};
	static const int64_t integers[NAMED] = { 5,  -1, 1000000007, INT64_MIN, 0,
						 99, 42, 7,	     INT64_MAX };
	static const char *const called[NAMED] = { "Ångström", "x",   "",  "Lovelace, Ada", "y",
						   "naïve",    "a b", "A", "eight" };
	uint64_t offsets[NAMED + 1] = { 0 };
	char text[200] = "";
	char path[4096], numbers[4200], strings[4200];
	struct dgi_outside_type types[3] = { { 0 } };
	struct dgi_outside_input input = { .types = types,
					   .internal_of = give_internal,
					   .original_of = give_original,
					   .work = directory };
	struct dgi_outside_writer *writer;
	dg_error err = { 0 };
	dg_book *book;

	must(dgi_book_new(&spec, &book, &err), &err);
	input.book = book;
	(void)snprintf(path, sizeof path, "%s/named", directory);
	(void)snprintf(numbers, sizeof numbers, "%s.numbers", path);
	(void)snprintf(strings, sizeof strings, "%s.strings", path);
	for (int i = 0; i < NAMED; i++) {
		offsets[i + 1] = offsets[i] + strlen(called[i]);
		strcat(text, called[i]);
	}
	write_file(numbers, integers, sizeof integers, "");
	write_file(strings, offsets, sizeof offsets, text);
	types[1] = (struct dgi_outside_type){ DG_OUTSIDE_INTEGERS, numbers };
	types[2] = (struct dgi_outside_type){ DG_OUTSIDE_STRINGS, strings };
	must(dgi_outside_writer_open(&input, &writer, &err), &err);
	make_named_store(path, book, writer);
	dgi_outside_writer_close(writer);
	dgi_book_free(book);
	(void)unlink(numbers);
	(void)unlink(strings);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: make_golden DIRECTORY\n");
		return 2;
	}
	(void)snprintf(path, sizeof path, "%s/journaled", argv[1]);
	make_journaled(path);
	(void)snprintf(path, sizeof path, "%s/closed", argv[1]);
	make_closed(path);
	(void)snprintf(path, sizeof path, "%s/grown", argv[1]);
	make_grown(path);
	(void)snprintf(path, sizeof path, "%s/under_way", argv[1]);
	make_under_way(path);
	make_named(argv[1]);
	return 0;
}
