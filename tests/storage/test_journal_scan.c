/* What storage/journal_scan.c promises of the stream that blocks are cut from. */
#include "test.h"

#include "block.h"
#include "chunk.h"
#include "journal.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

#define N_ENTRIES 5
#define BYTES_MAX 8192
#define BLOCK_PAYLOAD_MIN 100
#define N_BLOCKS_MAX (BYTES_MAX / BLOCK_PAYLOAD_MIN)

static const dg_uuid uuid = { { 7 } };

/* A journal in memory: entries of many and of few rows, in blocks of one page. */
struct written {
	uint8_t *file;
	struct dgi_journal_block blocks[N_BLOCKS_MAX];
	size_t n_blocks;
	size_t begins[N_ENTRIES]; /* the block in which each begins */
};

/* Rows of each entry: the long ones run over several blocks, the empty ones are a header alone. */
static const size_t n_rows[N_ENTRIES] = { 300, 0, 150, 1, 0 };

static size_t encode(size_t i, uint8_t *to)
{
	static const int64_t rows[300];
	static const float operands[300];
	struct dgi_entry entry = {
		.kind = DGI_ENTRY_ROWS,
		.op = DG_OP_ADD,
		.tensor = 1,
		.row_bytes = 4,
		.log_number = i + 1,
		.n = n_rows[i],
		.rows = (const uint8_t *)rows,
		.operands = (const uint8_t *)operands,
	};

	dgi_entry_encode(&entry, to);
	return dgi_entry_bytes(&entry);
}

static struct written write_journal(size_t block_payload)
{
	struct written w = { .file = calloc(N_BLOCKS_MAX, 4096) };
	uint8_t *stream = calloc(1, BYTES_MAX);
	size_t starts[N_ENTRIES], bytes = 0, next = 0;

	assert_non_null(w.file);
	assert_non_null(stream);
	for (size_t i = 0; i < N_ENTRIES; i++) {
		starts[i] = bytes;
		bytes += encode(i, stream + bytes);
	}
	for (size_t at = 0; at < bytes; at += block_payload, w.n_blocks++) {
		size_t n = bytes - at < block_payload ? bytes - at : block_payload;
		size_t first = n;
		uint8_t header[DGI_RECORD_HEADER_BYTES];

		for (; next < N_ENTRIES && starts[next] < at + n; next++) {
			if (first == n)
				first = starts[next] - at;
			w.begins[next] = w.n_blocks;
		}
		w.blocks[w.n_blocks] = (struct dgi_journal_block){
			.number = w.n_blocks + 1,
			.value_at = w.n_blocks * 4096,
			.value_bytes = dgi_value_bytes_of_pages(1),
		};
		dgi_block_seal(header, &uuid, w.n_blocks + 1, stream + at, n, next, first);
		dgi_block_fill(w.file + w.n_blocks * 4096, dgi_value_bytes_of_pages(1), header,
			       stream + at, n);
	}
	free(stream);
	return w;
}

static dg_status count_entry(void *context, const struct dgi_entry *entry, dg_error *err)
{
	(void)err;
	*(uint64_t *)context |= UINT64_C(1) << (entry->log_number - 1);
	return DG_OK;
}

/* Whatever was trimmed of the journal. */
static void expect_entries_of_the_rest(const struct written *w)
{
	for (size_t gone = 0; gone < w->n_blocks; gone++) {
		struct dgi_journal_block blocks[N_BLOCKS_MAX];
		uint64_t seen = 0, wanted = 0;
		dg_error err = { 0 };

		memcpy(blocks, w->blocks, sizeof blocks);
		for (size_t i = 0; i < N_ENTRIES; i++)
			wanted |= w->begins[i] >= gone ? UINT64_C(1) << i : 0;
		assert_ok(dgi_journal_headers(w->file, blocks + gone, w->n_blocks - gone, &err),
			  &err);
		assert_ok(dgi_journal_scan(w->file, blocks + gone, w->n_blocks - gone, &uuid,
					   count_entry, &seen, &err),
			  &err);
		assert_int_equal(seen, wanted);
	}
}

static void the_entries_that_begin_in_the_blocks_left_are_read_wherever_they_are_cut(void **state)
{
	(void)state;
	for (size_t payload = BLOCK_PAYLOAD_MIN; payload < 2000; payload++) {
		struct written w = write_journal(payload);

		expect_entries_of_the_rest(&w);
		free(w.file);
	}
}

static void an_entry_without_its_end_is_damage(void **state)
{
	struct written w = write_journal(1000);
	uint64_t seen = 0;
	dg_error err = { 0 };

	(void)state;
	assert_fails(
		dgi_journal_scan(w.file, w.blocks, w.begins[1], &uuid, count_entry, &seen, &err),
		DG_CORRUPT, &err, "its last entry is cut short");
	free(w.file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_entries_that_begin_in_the_blocks_left_are_read_wherever_they_are_cut),
		cmocka_unit_test(an_entry_without_its_end_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
