/* What src/partition/source.h promises. */
#include "test.h"
#include "tmpdir.h"

#include "source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_EDGES (DGI_EDGE_BLOCK * 2 + 3)

/* Users who rate items, in a directory of its own. */
struct place {
	char *dir;
	struct dgi_source source;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	struct dgi_source *s;

	assert_non_null(p);
	p->dir = tmpdir_new();
	s = &p->source;
	s->nodes = calloc(2, sizeof *s->nodes);
	s->edges = calloc(1, sizeof *s->edges);
	s->data = calloc(1, sizeof *s->data);
	assert_true(s->nodes && s->edges && s->data);
	s->n_node_types = 2;
	s->n_edge_types = 1;
	s->n_data = 1;
	s->nodes[0] = (struct dgi_source_nodes){ .name = "user", .n = 1000 };
	s->nodes[1] = (struct dgi_source_nodes){ .name = "item \"\xc3\xa9\"",
						 .n = 0x100000000,
						 .ids = DGI_IDS_STRINGS,
						 .ids_path = tmpdir_path(p->dir, "item.ids") };
	s->edges[0] = (struct dgi_source_edges){ .dst_type = 1,
						 .relation = "rates",
						 .n = N_EDGES,
						 .path = tmpdir_path(p->dir, "rates"),
						 .id_bytes = 4 };
	s->data[0].info = (dg_tensor_info){ .side = DG_EDGE,
					    .name = "stars",
					    .dtype = DG_BFLOAT16,
					    .rank = 1,
					    .shape = { 2 },
					    .row_bytes = 4 };
	s->data[0].n_paths = 2;
	s->data[0].paths = calloc(2, sizeof(char *));
	assert_non_null(s->data[0].paths);
	s->data[0].paths[0] = tmpdir_path(p->dir, "stars.npy");
	s->data[0].paths[1] = strdup("/elsewhere/more.npy");
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	dgi_source_clear(&p->source);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

static dg_id src_of(int64_t i)
{
	return i % 1000;
}

static dg_id dst_of(int64_t i)
{
	return 0xffffffff - i;
}

static void write_edges(const struct place *p, int64_t n)
{
	struct dgi_edge_writer *w;
	dg_error err = { 0 };

	assert_ok(dgi_edge_writer_open(p->source.edges[0].path, p->source.edges[0].id_bytes, &w,
				       &err),
		  &err);
	for (int64_t i = 0; i < n; i++) {
		dg_id src = src_of(i), dst = dst_of(i);

		assert_ok(dgi_edge_writer_append(w, &src, &dst, 1, &err), &err);
	}
	assert_ok(dgi_edge_writer_close(w, true, &err), &err);
}

static void assert_edges_from(const struct place *p, int64_t first)
{
	struct dgi_edge_reader *r;
	const dg_id *src, *dst;
	size_t n = 1;
	int64_t at = first;
	dg_error err = { 0 };

	assert_ok(dgi_edge_reader_open(&p->source, 0, first, &r, &err), &err);
	while (n > 0) {
		assert_ok(dgi_edge_reader_next(r, &src, &dst, &n, &err), &err);
		assert_true(n <= DGI_EDGE_BLOCK);
		for (size_t i = 0; i < n; i++, at++) {
			assert_int_equal(src[i], src_of(at));
			assert_int_equal(dst[i], dst_of(at));
		}
	}
	assert_int_equal(at, N_EDGES);
	dgi_edge_reader_close(r);
}

static void edges_are_read_as_they_were_written(void **state)
{
	struct place *p = *state;

	write_edges(p, N_EDGES);
	assert_edges_from(p, 0);
	assert_edges_from(p, DGI_EDGE_BLOCK + 1);
	assert_edges_from(p, N_EDGES);
	p->source.edges[0].id_bytes = 8;
	write_edges(p, N_EDGES);
	assert_edges_from(p, 0);
}

static void pairs_may_begin_anywhere_in_their_file(void **state)
{
	struct place *p = *state;
	struct dgi_source_edges *edges = &p->source.edges[0];

	write_edges(p, N_EDGES + 1);
	edges->offset = 8;
	p->source.nodes[0].n = 1000;
	{
		struct dgi_edge_reader *r;
		const dg_id *src, *dst;
		size_t n;
		dg_error err = { 0 };

		assert_ok(dgi_edge_reader_open(&p->source, 0, 0, &r, &err), &err);
		assert_ok(dgi_edge_reader_next(r, &src, &dst, &n, &err), &err);
		assert_int_equal(src[0], src_of(1));
		dgi_edge_reader_close(r);
	}
}

/* In a file of holes, which takes no room. */
static void edges_beyond_2_to_the_31_are_read_at_their_place(void **state)
{
	static const uint32_t last[] = { 7, 8, 999, 0xffffffff };
	const int64_t n = ((int64_t)1 << 31) + 3;
	struct place *p = *state;
	struct dgi_edge_reader *r;
	const dg_id *src, *dst;
	size_t got;
	dg_error err = { 0 };
	int fd = open(p->source.edges[0].path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	p->source.edges[0].n = n;
	assert_int_equal(pwrite(fd, last, sizeof last, (off_t)(n - 2) * 8), sizeof last);
	assert_int_equal(close(fd), 0);
	assert_ok(dgi_edge_reader_open(&p->source, 0, n - 3, &r, &err), &err);
	assert_ok(dgi_edge_reader_next(r, &src, &dst, &got, &err), &err);
	assert_int_equal(got, 3);
	assert_int_equal(src[0], 0);
	assert_int_equal(src[1], 7);
	assert_int_equal(dst[1], 8);
	assert_int_equal(src[2], 999);
	assert_int_equal(dst[2], 0xffffffff);
	dgi_edge_reader_close(r);
}

static void an_id_above_its_type_is_refused_with_its_edge(void **state)
{
	struct place *p = *state;
	struct dgi_edge_reader *r;
	const dg_id *src, *dst;
	size_t n;
	dg_error err = { 0 };

	write_edges(p, N_EDGES);
	p->source.nodes[0].n = 999;
	assert_ok(dgi_edge_reader_open(&p->source, 0, 0, &r, &err), &err);
	assert_fails(
		dgi_edge_reader_next(r, &src, &dst, &n, &err), DG_RANGE, &err,
		"edge 999 of type user:rates:item \"\xc3\xa9\" has source 999, want less than 999");
	dgi_edge_reader_close(r);
}

static void a_file_that_is_too_short_is_refused(void **state)
{
	struct place *p = *state;
	struct dgi_edge_reader *r;
	dg_error err = { 0 };

	write_edges(p, N_EDGES - 1);
	assert_fails(dgi_edge_reader_open(&p->source, 0, 0, &r, &err), DG_INVALID, &err,
		     "too few for 131075 edges");
	assert_int_equal(unlink(p->source.edges[0].path), 0);
	assert_fails(dgi_edge_reader_open(&p->source, 0, 0, &r, &err), DG_NOTFOUND, &err, "rates");
}

static void ids_that_do_not_fit_are_not_written(void **state)
{
	static const dg_id bad[] = { -1, 0x100000000 };
	static const dg_id good = 0xffffffff;
	struct place *p = *state;
	dg_error err = { 0 };

	for (int i = 0; i < 2; i++) {
		struct dgi_edge_writer *w;

		assert_ok(dgi_edge_writer_open(p->source.edges[0].path, 4, &w, &err), &err);
		assert_ok(dgi_edge_writer_append(w, &good, &good, 1, &err), &err);
		assert_fails(dgi_edge_writer_append(w, &good, &bad[i], 1, &err), DG_RANGE, &err,
			     "want ids of 4 bytes");
		assert_ok(dgi_edge_writer_close(w, false, &err), &err);
		assert_int_not_equal(access(p->source.edges[0].path, F_OK), 0);
	}
	assert_int_equal(dgi_edge_id_bytes(0x100000000, 1), 4);
	assert_int_equal(dgi_edge_id_bytes(1, 0x100000001), 8);
}

static void a_source_is_loaded_as_it_was_saved(void **state)
{
	struct place *p = *state;
	const struct dgi_source *a = &p->source;
	struct dgi_source b;
	dg_error err = { 0 };

	assert_fails(dgi_source_load(p->dir, &b, &err), DG_NOTFOUND, &err, "source.json");
	assert_ok(dgi_source_save(a, p->dir, &err), &err);
	assert_ok(dgi_source_load(p->dir, &b, &err), &err);
	assert_int_equal(b.n_node_types, 2);
	assert_int_equal(b.n_edge_types, 1);
	assert_int_equal(b.n_data, 1);
	assert_string_equal(b.nodes[1].name, a->nodes[1].name);
	assert_int_equal(b.nodes[1].n, a->nodes[1].n);
	assert_int_equal(b.nodes[0].ids, DGI_IDS_ARE_NUMBERS);
	assert_null(b.nodes[0].ids_path);
	assert_int_equal(b.nodes[1].ids, DGI_IDS_STRINGS);
	assert_string_equal(b.nodes[1].ids_path, a->nodes[1].ids_path);
	assert_int_equal(b.edges[0].src_type, 0);
	assert_int_equal(b.edges[0].dst_type, 1);
	assert_string_equal(b.edges[0].relation, "rates");
	assert_int_equal(b.edges[0].n, N_EDGES);
	assert_string_equal(b.edges[0].path, a->edges[0].path);
	assert_int_equal(b.edges[0].id_bytes, 4);
	assert_memory_equal(&b.data[0].info, &a->data[0].info, sizeof a->data[0].info);
	assert_int_equal(b.data[0].n_paths, 2);
	assert_string_equal(b.data[0].paths[0], a->data[0].paths[0]);
	assert_string_equal(b.data[0].paths[1], a->data[0].paths[1]);
	dgi_source_clear(&b);
}

static void paths_follow_the_work_directory(void **state)
{
	struct place *p = *state;
	struct dgi_source b;
	char *text;
	size_t n;
	dg_error err = { 0 };

	assert_ok(dgi_source_encode(&p->source, p->dir, &text, &n, &err), &err);
	assert_ok(dgi_source_decode(text, n, "moved/here", &b, &err), &err);
	assert_string_equal(b.edges[0].path, "moved/here/rates");
	assert_string_equal(b.data[0].paths[1], "/elsewhere/more.npy");
	dgi_source_clear(&b);
	free(text);
}

/* Every prefix of a good file, and wrong values. */
static void a_damaged_description_is_refused(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{\"format\":2,\"nodes\":[],\"edges\":[],\"data\":[]}",
		"{\"format\":1,\"nodes\":[],\"edges\":[]}",
		"{\"format\":1,\"nodes\":[{\"name\":\"a\",\"n\":-1,\"ids\":\"numbers\"}],\"edges\":"
		"[],\"data\":[]}",
		"{\"format\":1,\"nodes\":[{\"name\":\"a\",\"n\":1,\"ids\":\"some\"}],\"edges\":[],"
		"\"data\":[]}",
		"{\"format\":1,\"nodes\":[],\"edges\":[{\"src\":0,\"dst\":0,\"relation\":\"r\","
		"\"n\":1,"
		"\"path\":\"p\",\"offset\":0,\"id_bytes\":4}],\"data\":[]}",
	};
	struct place *p = *state;
	struct dgi_source b;
	char *text;
	size_t n;
	dg_error err = { 0 };

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_fails(dgi_source_decode(bad[i], strlen(bad[i]), "w", &b, &err), DG_INVALID,
			     &err, "source.json");
	assert_ok(dgi_source_encode(&p->source, p->dir, &text, &n, &err), &err);
	for (size_t i = 0; i < n; i++)
		assert_fails(dgi_source_decode(text, i, "w", &b, &err), DG_INVALID, &err,
			     "source.json");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
		TEST(edges_are_read_as_they_were_written),
		TEST(pairs_may_begin_anywhere_in_their_file),
		TEST(edges_beyond_2_to_the_31_are_read_at_their_place),
		TEST(an_id_above_its_type_is_refused_with_its_edge),
		TEST(a_file_that_is_too_short_is_refused),
		TEST(ids_that_do_not_fit_are_not_written),
		TEST(a_source_is_loaded_as_it_was_saved),
		TEST(paths_follow_the_work_directory),
		TEST(a_damaged_description_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
