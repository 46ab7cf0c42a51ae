/* What storage/entry.c promises. */
#include "test.h"

#include "bytes.h"
#include "entry.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

static const int64_t rows[3] = { 4, 0, INT64_C(1) << 40 };
static const float operands[6] = { 1, 2, 3, 4, 5, 6 };

static struct dgi_entry push_of_three_rows(void)
{
	struct dgi_entry entry = {
		.kind = DGI_ENTRY_ROWS,
		.op = DG_OP_ADD,
		.tensor = 9,
		.row_bytes = 8,
		.log_number = 77,
		.session = { .id = { { 1, 2, 3 } }, .number = 12, .window = 0x5 },
		.n = 3,
		.rows = (const uint8_t *)rows,
		.operands = (const uint8_t *)operands,
	};

	return entry;
}

static void an_entry_comes_back_whole(void **state)
{
	struct dgi_entry entry = push_of_three_rows(), back;
	size_t used, n = dgi_entry_bytes(&entry);
	uint8_t *data = malloc(n);
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(n, 80 + 24 + 24);
	dgi_entry_encode(&entry, data);
	assert_ok(dgi_entry_decode(data, n, &back, &used, &err), &err);
	assert_int_equal(used, n);
	assert_int_equal(back.tensor, 9);
	assert_int_equal(back.log_number, 77);
	assert_memory_equal(&back.session, &entry.session, sizeof back.session);
	assert_memory_equal(back.rows, rows, sizeof rows);
	assert_memory_equal(back.operands, operands, sizeof operands);
	free(data);
}

static void a_fill_holds_a_run_and_one_operand(void **state)
{
	struct dgi_entry entry = push_of_three_rows(), back;
	uint8_t data[200];
	dg_error err = { 0 };
	size_t used;

	(void)state;
	entry.kind = DGI_ENTRY_FILL;
	entry.n = 1;
	entry.first = 100;
	entry.count = 1000;
	dgi_entry_encode(&entry, data);
	assert_ok(dgi_entry_decode(data, dgi_entry_bytes(&entry), &back, &used, &err), &err);
	assert_int_equal(back.first, 100);
	assert_int_equal(back.count, 1000);
	assert_memory_equal(back.operands, operands, 8);
	dgi_put_u64(data + 80, UINT64_MAX);
	assert_fails(dgi_entry_decode(data, sizeof data, &back, &used, &err), DG_CORRUPT, &err,
		     "fill of 1000 rows from -1");
}

static void an_entry_cut_anywhere_is_refused(void **state)
{
	struct dgi_entry entry = push_of_three_rows(), back;
	uint8_t data[200];
	dg_error err = { 0 };
	size_t used;

	(void)state;
	dgi_entry_encode(&entry, data);
	for (size_t cut = 0; cut < dgi_entry_bytes(&entry); cut++)
		assert_int_equal(dgi_entry_decode(data, cut, &back, &used, &err), DG_CORRUPT);
}

static void an_entry_has_a_largest_size(void **state)
{
	struct dgi_entry entry = push_of_three_rows();

	(void)state;
	entry.row_bytes = 1 << 20;
	entry.n = 63;
	assert_true(dgi_entry_bytes(&entry) > 0);
	entry.n = 64; /* and the row numbers */
	assert_int_equal(dgi_entry_bytes(&entry), 0);
	entry.n = UINT64_MAX / 8;
	assert_int_equal(dgi_entry_bytes(&entry), 0);
}

static void a_log_number_has_limits(void **state)
{
	struct dgi_entry entry = push_of_three_rows(), back;
	uint8_t data[200];
	dg_error err = { 0 };
	size_t used;

	(void)state;
	entry.log_number = INT64_MAX;
	dgi_entry_encode(&entry, data);
	assert_ok(dgi_entry_decode(data, sizeof data, &back, &used, &err), &err);
	dgi_put_u64(data + 16, (uint64_t)INT64_MAX + 1);
	assert_fails(dgi_entry_decode(data, sizeof data, &back, &used, &err), DG_CORRUPT, &err,
		     "log number 9223372036854775808");
	dgi_put_u64(data + 16, 0);
	assert_fails(dgi_entry_decode(data, sizeof data, &back, &used, &err), DG_CORRUPT, &err,
		     "log number 0");
}

static void a_session_has_a_number(void **state)
{
	struct dgi_entry entry = push_of_three_rows(), back;
	uint8_t data[200];
	dg_error err = { 0 };
	size_t used;

	(void)state;
	entry.session = (struct dgi_session_mark){ 0 };
	dgi_entry_encode(&entry, data);
	assert_ok(dgi_entry_decode(data, sizeof data, &back, &used, &err), &err);
	data[40] = 1;
	assert_fails(dgi_entry_decode(data, sizeof data, &back, &used, &err), DG_CORRUPT, &err,
		     "push 0 of a session");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_comes_back_whole),
		cmocka_unit_test(a_fill_holds_a_run_and_one_operand),
		cmocka_unit_test(an_entry_cut_anywhere_is_refused),
		cmocka_unit_test(an_entry_has_a_largest_size),
		cmocka_unit_test(a_log_number_has_limits),
		cmocka_unit_test(a_session_has_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
