/* What src/array/npy.c, src/array/npy_file.c and src/array/array.c promise. */
#include "test.h"
#include "tmpdir.h"

#include "buffer.h"
#include "npy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = tmpdir_new();
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	tmpdir_remove(dir);
	return 0;
}

/* A header of format 1.0 around @dictionary, as short as can be. */
static size_t header_of(const char *dictionary, uint8_t *out)
{
	size_t n = strlen(dictionary);

	memcpy(out, "\x93NUMPY\x01\x00", 8);
	out[8] = (uint8_t)((n + 1) & 0xff);
	out[9] = (uint8_t)((n + 1) >> 8);
	memcpy(out + 10, dictionary, n);
	out[10 + n] = '\n';
	return 10 + n + 1;
}

static dg_status decode(const char *dictionary, struct dgi_npy *out, dg_error *err)
{
	uint8_t header[1024];

	return dgi_npy_decode(header, header_of(dictionary, header), out, err);
}

static void what_numpy_writes_is_read(void **state)
{
	struct dgi_npy npy;
	dg_error err = { 0 };

	(void)state;
	assert_ok(decode("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   ", &npy,
			 &err),
		  &err);
	assert_int_equal(npy.kind, 'f');
	assert_int_equal(npy.item_bytes, 4);
	assert_false(npy.fortran_order);
	assert_int_equal(npy.rank, 2);
	assert_int_equal(npy.shape[0], 3);
	assert_int_equal(npy.shape[1], 4);
	assert_int_equal(npy.data_bytes, 48);
	assert_ok(decode("{'descr': '|b1', 'fortran_order': True, 'shape': (5,), }", &npy, &err),
		  &err);
	assert_true(npy.fortran_order);
	assert_int_equal(npy.data_bytes, 5);
	assert_ok(decode("{\"shape\":(),\"fortran_order\":False,\"descr\":\"<u8\"}", &npy, &err),
		  &err);
	assert_int_equal(npy.rank, 0);
	assert_int_equal(npy.data_bytes, 8);
	assert_ok(decode("{'descr': '<i2', 'fortran_order': False, 'shape': (0, 7)}", &npy, &err),
		  &err);
	assert_int_equal(npy.data_bytes, 0);
}

static void what_is_no_plain_little_endian_number_is_refused_by_name(void **state)
{
	static const struct {
		const char *descr;
		const char *text;
	} bad[] = {
		{ "'>f4'", "'>f4', want little-endian" },
		{ "'|O'", "holds Python objects" },
		{ "'<U5'", "'<U5'" },
		{ "'<c8'", "'<c8'" },
		{ "'<M8[ns]'", "'<M8[ns]'" },
		{ "'<f1'", "'<f1'" },
		{ "'<i3'", "'<i3'" },
		{ "'|i4'", "'|i4'" },
		{ "'<b2'", "'<b2'" },
		{ "''", "''" },
		{ "[('a', '<i4'), ('b', '<f4')]", "structured" },
	};
	struct dgi_npy npy;
	dg_error err = { 0 };
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		(void)snprintf(text, sizeof text,
			       "{'descr': %s, 'fortran_order': False, 'shape': (3,), }",
			       bad[i].descr);
		assert_fails(decode(text, &npy, &err), DG_UNSUPPORTED, &err, bad[i].text);
	}
}

static void a_dictionary_of_another_form_is_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{'descr': '<f4', 'fortran_order': False}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
		"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
		"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
		"{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
		"{'descr",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}",
		"exec('x')",
	};
	struct dgi_npy npy;
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_fails(decode(bad[i], &npy, &err), DG_INVALID, &err, ".npy header");
}

static void nine_dimensions_are_read_and_ten_are_not(void **state)
{
	struct dgi_npy npy;
	dg_error err = { 0 };

	(void)state;
	assert_ok(decode("{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}",
			 &npy, &err),
		  &err);
	assert_int_equal(npy.rank, 9);
	assert_fails(decode("{'descr': '|u1', 'fortran_order': False, 'shape': "
			    "(1,1,1,1,1,1,1,1,1,2)}",
			    &npy, &err),
		     DG_UNSUPPORTED, &err, "more than 9 dimensions");
}

static void versions_and_lengths_are_checked_first(void **state)
{
	static const char dictionary[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}";
	uint8_t data[256];
	struct dgi_npy npy;
	dg_error err = { 0 };
	size_t n = header_of(dictionary, data);

	(void)state;
	assert_fails(dgi_npy_decode(data, n - 1, &npy, &err), DG_INVALID, &err, "bytes of");
	assert_fails(dgi_npy_decode(data, 11, &npy, &err), DG_INVALID, &err, "cut short");
	data[6] = 3;
	assert_fails(dgi_npy_decode(data, n, &npy, &err), DG_UNSUPPORTED, &err, "format 3.0");
	memmove(data + 12, data + 10, n - 10);
	data[6] = 2;
	data[10] = data[11] = 0;
	assert_ok(dgi_npy_decode(data, n + 2, &npy, &err), &err);
	data[10] = 1; /* 64 KiB more */
	assert_fails(dgi_npy_decode(data, n + 2, &npy, &err), DG_INVALID, &err, "want 12 to 65536");
	data[0] = 'P';
	assert_fails(dgi_npy_decode(data, n + 2, &npy, &err), DG_INVALID, &err, "not a .npy");
}

static void what_is_encoded_decodes_to_the_same(void **state)
{
	struct dgi_npy npy = { .kind = 'i', .item_bytes = 8, .rank = 9, .data_bytes = 0 };
	struct dgi_npy again;
	uint8_t data[DGI_NPY_ENCODED_BYTES_MAX];
	dg_error err = { 0 };

	(void)state;
	for (int i = 1; i < 9; i++)
		npy.shape[i] = INT64_MAX; /* the longest text there is */
	npy.header_bytes = dgi_npy_encode(&npy, data);
	assert_int_equal(npy.header_bytes % 64, 0);
	npy.rank = 1;
	npy.shape[0] = 3;
	npy.data_bytes = 24;
	npy.header_bytes = dgi_npy_encode(&npy, data);
	assert_int_equal(npy.header_bytes, 128);
	assert_memory_equal(data + 10, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }",
			    57);
	assert_ok(dgi_npy_decode(data, npy.header_bytes, &again, &err), &err);
	assert_int_equal(again.rank, 1);
	assert_int_equal(again.shape[0], 3);
	assert_int_equal(again.data_bytes, 24);
	assert_int_equal(again.header_bytes, 128);
}

/* --- Files --- */

static void write_array(const char *path, dg_dtype dtype, uint32_t rank, const int64_t *shape,
			const void *data, size_t n)
{
	dg_array_writer *w;
	dg_error err = { 0 };

	assert_ok(dg_array_writer_open(path, dtype, rank, shape, &w, &err), &err);
	assert_ok(dg_array_writer_append(w, data, n / 2, &err), &err);
	assert_ok(dg_array_writer_append(w, (const char *)data + n / 2, n - n / 2, &err), &err);
	assert_ok(dg_array_writer_close(w, 1, &err), &err);
}

static void what_is_written_is_loaded(void **state)
{
	static const float rows[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	static const int64_t shape[] = { 2, 3 };
	char *path = tmpdir_path(dir, "f.npy");
	dg_array array;
	dg_error err = { 0 };
	struct stat st;

	(void)state;
	write_array(path, DG_FLOAT32, 2, shape, rows, sizeof rows);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 128 + sizeof rows);
	assert_ok(dg_array_load(path, &array, &err), &err);
	assert_int_equal(array.dtype, DG_FLOAT32);
	assert_int_equal(array.rank, 2);
	assert_int_equal(array.shape[1], 3);
	assert_int_equal(array.bytes, sizeof rows);
	assert_int_equal((uintptr_t)array.data % 64, 0);
	assert_memory_equal(array.data, rows, sizeof rows);
	dg_array_clear(&array);
	assert_null(array.data);
	free(path);
}

/* A .npy of @n bytes of data, however many the header says. */
static void write_raw(const char *path, const char *dictionary, size_t n, const char *gz_mode)
{
	uint8_t data[8192] = { 0 };
	size_t header = header_of(dictionary, data);
	gzFile f = gzopen(path, gz_mode);

	assert_non_null(f);
	assert_int_equal(gzwrite(f, data, (unsigned)(header + n)), header + n);
	assert_int_equal(gzclose(f), Z_OK);
}

static void every_dtype_comes_back_also_the_one_numpy_lacks(void **state)
{
	static const int64_t shape[] = { 1 };
	static const char zeros[8];
	char *path = tmpdir_path(dir, "t.npy");
	dg_array array;
	dg_error err = { 0 };

	(void)state;
	for (dg_dtype dtype = DG_BOOL; dtype <= DG_FLOAT64; dtype++) {
		write_array(path, dtype, 1, shape, zeros, dg_dtype_bytes(dtype));
		assert_ok(dg_array_load(path, &array, &err), &err);
		assert_int_equal(array.dtype, dtype);
		dg_array_clear(&array);
	}
	write_raw(path, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", 2, "wbT");
	assert_ok(dg_array_load(path, &array, &err), &err);
	assert_int_equal(array.dtype, DG_BFLOAT16);
	dg_array_clear(&array);
	write_raw(path, "{'descr': '<u4', 'fortran_order': False, 'shape': (1,)}", 4, "wbT");
	assert_fails(dg_array_load(path, &array, &err), DG_UNSUPPORTED, &err, "'<u4'");
	free(path);
}

static void a_file_is_read_piece_by_piece(void **state)
{
	static const int64_t shape[] = { 3, 2 };
	static const int16_t rows[] = { 1, 2, 3, 4, 5, 6 };
	char *path = tmpdir_path(dir, "p.npy");
	dg_array_reader *reader;
	dg_array array;
	int16_t back[6];
	dg_error err = { 0 };

	(void)state;
	write_array(path, DG_INT16, 2, shape, rows, sizeof rows);
	assert_ok(dg_array_reader_open(path, &array, &reader, &err), &err);
	assert_int_equal(array.dtype, DG_INT16);
	assert_int_equal(array.rank, 2);
	assert_int_equal(array.shape[0], 3);
	assert_int_equal(array.bytes, sizeof rows);
	assert_null(array.data);
	assert_ok(dg_array_reader_read(reader, back, 4, &err), &err);
	assert_fails(dg_array_reader_read(reader, back, 9, &err), DG_INVALID, &err, "1 bytes more");
	assert_ok(dg_array_reader_read(reader, back + 2, 8, &err), &err);
	assert_memory_equal(back, rows, sizeof rows);
	assert_fails(dg_array_reader_read(reader, back, 1, &err), DG_INVALID, &err, "1 bytes more");
	dg_array_reader_close(reader);
	free(path);
}

static void a_file_read_piece_by_piece_has_the_length_of_its_shape(void **state)
{
	static const char two[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
	char *path = tmpdir_path(dir, "q.npy");
	dg_array_reader *reader;
	dg_array array;
	char back[8];
	dg_error err = { 0 };

	(void)state;
	for (size_t n = 7; n <= 9; n += 2) { /* plain: known at once */
		write_raw(path, two, n, "wbT");
		assert_fails(dg_array_reader_open(path, &array, &reader, &err), DG_INVALID, &err,
			     "the header says 8");
		assert_non_null(strstr(err.text, path));
	}
	write_raw(path, two, 7, "wb"); /* packed: at the end */
	assert_ok(dg_array_reader_open(path, &array, &reader, &err), &err);
	assert_fails(dg_array_reader_read(reader, back, 8, &err), DG_INVALID, &err,
		     "ends 1 bytes before");
	dg_array_reader_close(reader);
	write_raw(path, two, 9, "wb");
	assert_ok(dg_array_reader_open(path, &array, &reader, &err), &err);
	assert_fails(dg_array_reader_read(reader, back, 8, &err), DG_INVALID, &err, "goes on");
	dg_array_reader_close(reader);
	assert_fails(dg_array_reader_open("/nowhere.npy", &array, &reader, &err), DG_NOTFOUND, &err,
		     "/nowhere.npy");
	free(path);
}

static void an_array_without_elements_has_no_data(void **state)
{
	static const int64_t shape[] = { 0, 5 };
	char *path = tmpdir_path(dir, "e.npy");
	dg_array array;
	dg_error err = { 0 };

	(void)state;
	write_array(path, DG_INT64, 2, shape, "", 0);
	assert_ok(dg_array_load(path, &array, &err), &err);
	assert_null(array.data);
	assert_int_equal(array.bytes, 0);
	assert_int_equal(array.shape[1], 5);
	dg_array_clear(&array);
	free(path);
}

static void a_file_of_another_length_than_its_shape_is_refused(void **state)
{
	static const char two[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
	static const char many[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, "
				   "100000000000000)}";
	static const char *const modes[] = { "wbT", "wb" }; /* plain, gzip */
	char *path = tmpdir_path(dir, "l.npy");
	dg_array array;
	dg_error err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		write_raw(path, two, 8, modes[i]);
		assert_ok(dg_array_load(path, &array, &err), &err);
		dg_array_clear(&array);
		write_raw(path, two, 7, modes[i]);
		assert_fails(dg_array_load(path, &array, &err), DG_INVALID, &err,
			     "7 bytes of data, the header says 8");
		write_raw(path, two, 9, modes[i]);
		assert_fails(dg_array_load(path, &array, &err), DG_INVALID, &err,
			     "the header says 8");
		write_raw(path, many, 8, modes[i]); /* must not be believed */
		assert_fails(dg_array_load(path, &array, &err), DG_INVALID, &err,
			     "8 bytes of data, the header says 800000000000000");
		assert_non_null(strstr(err.text, path));
	}
	free(path);
}

static void a_cut_gzip_file_is_refused(void **state)
{
	static const char two[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
	char *path = tmpdir_path(dir, "c.npy.gz");
	dg_array array;
	dg_error err = { 0 };
	struct stat st;

	(void)state;
	write_raw(path, two, 8, "wb");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 12), 0);
	assert_fails(dg_array_load(path, &array, &err), DG_INVALID, &err, "cut short");
	free(path);
}

static void what_cannot_be_read_says_why(void **state)
{
	char *path = tmpdir_path(dir, "none.npy");
	dg_array array;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_array_load(path, &array, &err), DG_NOTFOUND, &err, path);
	assert_fails(dg_array_load(dir, &array, &err), DG_INVALID, &err, "a directory");
	write_raw(path, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1)}", 8, "wbT");
	assert_fails(dg_array_load(path, &array, &err), DG_UNSUPPORTED, &err, "Fortran order");
	write_raw(path, "", 0, "wbT");
	assert_int_equal(truncate(path, 0), 0);
	assert_fails(dg_array_load(path, &array, &err), DG_INVALID, &err, "0 bytes");
	free(path);
}

static void a_file_not_kept_or_not_whole_leaves_the_old_one(void **state)
{
	static const int64_t shape[] = { 4 };
	char *path = tmpdir_path(dir, "k.npy");
	char *only;
	dg_array_writer *w;
	dg_array array;
	dg_error err = { 0 };

	(void)state;
	write_array(path, DG_INT8, 1, shape, "abcd", 4);
	assert_ok(dg_array_writer_open(path, DG_INT8, 1, shape, &w, &err), &err);
	assert_ok(dg_array_writer_append(w, "efg", 3, &err), &err);
	assert_fails(dg_array_writer_append(w, "hi", 2, &err), DG_INVALID, &err, "1 bytes more");
	assert_fails(dg_array_writer_close(w, 1, &err), DG_INVALID, &err, "1 bytes fewer");
	assert_ok(dg_array_writer_open(path, DG_INT8, 1, shape, &w, &err), &err);
	assert_ok(dg_array_writer_close(w, 0, &err), &err);
	assert_ok(dg_array_load(path, &array, &err), &err);
	assert_memory_equal(array.data, "abcd", 4);
	dg_array_clear(&array);
	/* No temporary file is left: the directory can be removed once the file is. */
	only = tmpdir_path(dir, "sub");
	assert_int_equal(mkdir(only, 0700), 0);
	free(path);
	path = tmpdir_path(only, "k.npy");
	assert_ok(dg_array_writer_open(path, DG_INT8, 1, shape, &w, &err), &err);
	assert_ok(dg_array_writer_close(w, 0, &err), &err);
	assert_int_equal(rmdir(only), 0);
	assert_fails(dg_array_writer_open(path, DG_INT8, 1, shape, &w, &err), DG_NOTFOUND, &err,
		     "create");
	free(only);
	free(path);
}

static void a_device_is_written_to_and_not_replaced(void **state)
{
	static const int64_t shape[] = { 2 };
	struct stat st;

	(void)state;
	write_array("/dev/null", DG_INT8, 1, shape, "ab", 2);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_numpy_writes_is_read),
		cmocka_unit_test(what_is_no_plain_little_endian_number_is_refused_by_name),
		cmocka_unit_test(a_dictionary_of_another_form_is_refused),
		cmocka_unit_test(nine_dimensions_are_read_and_ten_are_not),
		cmocka_unit_test(versions_and_lengths_are_checked_first),
		cmocka_unit_test(what_is_encoded_decodes_to_the_same),
		cmocka_unit_test(what_is_written_is_loaded),
		cmocka_unit_test(every_dtype_comes_back_also_the_one_numpy_lacks),
		cmocka_unit_test(a_file_is_read_piece_by_piece),
		cmocka_unit_test(a_file_read_piece_by_piece_has_the_length_of_its_shape),
		cmocka_unit_test(an_array_without_elements_has_no_data),
		cmocka_unit_test(a_file_of_another_length_than_its_shape_is_refused),
		cmocka_unit_test(a_cut_gzip_file_is_refused),
		cmocka_unit_test(what_cannot_be_read_says_why),
		cmocka_unit_test(a_file_not_kept_or_not_whole_leaves_the_old_one),
		cmocka_unit_test(a_device_is_written_to_and_not_replaced),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
