/* What src/outside/ promises: what is written is found again, both ways, by the stores. */
#include "test.h"

#include "book.h"
#include "cluster.h"
#include "outside.h"
#include "rng.h"
#include "store.h"
#include "tmpdir.h"

#include <distgraph/server.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PARTS 3
#define TYPES 3
#define N_INTEGERS 500
#define N_STRINGS 700

static const char *const names[TYPES] = { "plain", "paper", "author" };
static const int64_t counts[TYPES * PARTS] = { 20, 0, 0, 100, 250, 150, 300, 0, 400 };

static char *dir;
static dg_book *book;
static int64_t integers[N_INTEGERS]; /* by original number */
static char strings[N_STRINGS][24];
static dg_store *stores[PARTS];

/* Relabelled id i was original number i * step + 3, of a count that has no divisor with the step. */
static dg_id step_of(uint16_t type)
{
	return type == 2 ? 9 : 7;
}

static dg_id original(uint16_t type, dg_id id)
{
	return (id * step_of(type) + 3) % dg_book_count(book, DG_NODE, type);
}

static dg_status give_original(void *context, uint16_t type, int64_t first, size_t n, dg_id *out,
			       dg_error *err)
{
	(void)context;
	(void)err;
	for (size_t i = 0; i < n; i++)
		out[i] = original(type, first + (dg_id)i);
	return DG_OK;
}

static dg_status give_internal(void *context, uint16_t type, int64_t first, size_t n, dg_id *out,
			       dg_error *err)
{
	(void)context;
	(void)err;
	for (size_t i = 0; i < n; i++)
		for (dg_id id = 0; id < dg_book_count(book, DG_NODE, type); id++)
			if (original(type, id) == first + (dg_id)i)
				out[i] = id;
	return DG_OK;
}

static void write_file(const char *path, const void *a, size_t n_a, const void *b, size_t n_b)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(a, 1, n_a, file), n_a);
	assert_int_equal(fwrite(b, 1, n_b, file), n_b);
	assert_int_equal(fclose(file), 0);
}

static void write_strings(const char *path)
{
	static uint64_t offsets[N_STRINGS + 1];
	static char text[N_STRINGS * 24];

	for (size_t i = 0; i < N_STRINGS; i++) {
		memcpy(text + offsets[i], strings[i], strlen(strings[i]));
		offsets[i + 1] = offsets[i] + strlen(strings[i]);
	}
	write_file(path, offsets, sizeof offsets, text, offsets[N_STRINGS]);
}

static void draw_ids(void)
{
	struct dgi_rng rng = dgi_rng_of(4, 4);

	for (size_t i = 0; i < N_INTEGERS; i++)
		integers[i] = (int64_t)dgi_rng_next(&rng);
	integers[0] = INT64_MIN;
	integers[1] = -1;
	integers[2] = 0;
	for (int i = 0; i < N_STRINGS; i++)
		(void)sprintf(strings[i], "%.*s%d", i % 9, "Müllerin", i);
	strings[11][0] = '\0'; /* empty is a name like another */
}

static void make_stores(const struct dgi_outside_input *input)
{
	struct dgi_outside_writer *writer = NULL;
	dg_error err = { 0 };
	uint8_t *bytes;
	size_t n;

	assert_ok(dgi_outside_writer_open(input, &writer, &err), &err);
	assert_true(dgi_outside_writer_has_any(writer));
	assert_ok(dgi_book_encode(book, &bytes, &n, &err), &err);
	for (uint32_t p = PARTS; p-- > 0;) {
		const struct dgi_superblock superblock = { .store_uuid = { { 1, (uint8_t)p } },
							   .cluster_uuid = { { 9 } },
							   .part = p,
							   .n_parts = PARTS,
							   .incompatible =
								   DGI_FEATURE_OUTSIDE_IDS };
		struct dgi_volume_maker *maker;
		char name[16], *path;

		(void)sprintf(name, "part%u", p);
		path = tmpdir_path(dir, name);
		assert_int_equal(mkdir(path, 0700), 0);
		assert_ok(dgi_volume_make(path, &superblock, bytes, n, &maker, &err), &err);
		assert_ok(dgi_outside_ids_write(writer, p, maker, &err), &err);
		assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
		assert_ok(dg_store_open(path, NULL, &stores[p], &err), &err);
		free(path);
	}
	dgi_outside_writer_close(writer);
	free(bytes);
}

static struct dgi_outside_type types[TYPES];

static struct dgi_outside_input input_of(void)
{
	return (struct dgi_outside_input){ .book = book,
					   .types = types,
					   .internal_of = give_internal,
					   .original_of = give_original,
					   .work = dir,
					   .memory_bytes = 4096 };
}

static int set_up(void **state)
{
	struct dgi_book_spec spec = {
		.n_parts = PARTS, .n_node_types = TYPES, .node_types = names, .node_counts = counts
	};
	struct dgi_outside_input input;
	dg_error err = { 0 };

	(void)state;
	dir = tmpdir_new();
	if (dgi_book_new(&spec, &book, &err))
		return -1;
	draw_ids();
	types[1] = (struct dgi_outside_type){ DG_OUTSIDE_INTEGERS, tmpdir_path(dir, "integers") };
	types[2] = (struct dgi_outside_type){ DG_OUTSIDE_STRINGS, tmpdir_path(dir, "strings") };
	write_file(types[1].path, integers, sizeof integers, "", 0);
	write_strings(types[2].path);
	input = input_of();
	make_stores(&input);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t p = 0; p < PARTS; p++)
		dg_store_close(stores[p]);
	dgi_book_free(book);
	free((void *)(uintptr_t)types[1].path);
	free((void *)(uintptr_t)types[2].path);
	tmpdir_remove(dir);
	return 0;
}

static void every_node_is_called_what_the_caller_called_it(void **state)
{
	dg_error err = { 0 };

	(void)state;
	for (uint16_t t = 1; t < TYPES; t++) {
		int64_t n = dg_book_count(book, DG_NODE, t);
		dg_id *ids = malloc((size_t)n * sizeof *ids);
		dg_outside_ids out = { 0 };

		/* Backwards, so that no part's are side by side in order. */
		for (int64_t i = 0; i < n; i++)
			ids[i] = n - 1 - i;
		assert_ok(
			dg_stores_to_outside(stores, PARTS, DG_NODE, t, ids, (size_t)n, &out, &err),
			&err);
		assert_int_equal(out.n, n);
		for (int64_t i = 0; i < n; i++) {
			dg_id o = original(t, ids[i]);

			if (t == 1) {
				assert_true(out.integers[i] == integers[o]);
				continue;
			}
			assert_int_equal(out.offsets[i + 1] - out.offsets[i], strlen(strings[o]));
			assert_memory_equal(out.text + out.offsets[i], strings[o],
					    strlen(strings[o]));
		}
		/* And back. */
		{
			dg_id *back = malloc((size_t)n * sizeof *back);

			assert_ok(
				dg_stores_from_outside(stores, PARTS, DG_NODE, t, &out, back, &err),
				&err);
			assert_memory_equal(back, ids, (size_t)n * sizeof *ids);
			free(back);
		}
		dg_outside_ids_clear(&out);
		free(ids);
	}
}

static void forms_are_told_and_checked(void **state)
{
	int64_t one = 1;
	uint64_t offsets[] = { 0, 1 };
	char text[] = "x";
	const dg_outside_ids number = { .form = DG_OUTSIDE_INTEGERS, .n = 1, .integers = &one };
	const dg_outside_ids string = {
		.form = DG_OUTSIDE_STRINGS, .n = 1, .offsets = offsets, .text = text
	};
	dg_outside_form form;
	dg_error err = { 0 };
	dg_id id;

	(void)state;
	for (uint16_t t = 0; t < TYPES; t++) {
		assert_ok(dg_stores_outside_form(stores, PARTS, DG_NODE, t, &form, &err), &err);
		assert_int_equal(form, t);
	}
	assert_fails(dg_stores_outside_form(stores, PARTS, DG_NODE, 3, &form, &err), DG_NOTFOUND,
		     &err, "node type 3: the graph has 3");
	assert_fails(dg_stores_from_outside(stores, PARTS, DG_NODE, 2, &number, &id, &err),
		     DG_INVALID, &err, "node type 2 has strings for ids, not integers");
	assert_fails(dg_stores_from_outside(stores, PARTS, DG_NODE, 1, &string, &id, &err),
		     DG_INVALID, &err, "node type 1 has integers for ids, not strings");
	assert_fails(dg_stores_from_outside(stores, PARTS, DG_NODE, 1, &number, &id, &err),
		     DG_NOTFOUND, &err, "no node of type 'paper' is called 1");
	assert_fails(dg_stores_from_outside(stores, PARTS, DG_NODE, 2, &string, &id, &err),
		     DG_NOTFOUND, &err, "no node of type 'author' is called 'x'");
	assert_fails(dg_stores_outside_form(stores, 2, DG_NODE, 0, &form, &err), DG_MISMATCH, &err,
		     "is part 0 of 3");
}

static void one_store_alone_knows_what_its_own_nodes_are_called(void **state)
{
	dg_store *alone[PARTS] = { NULL, NULL, stores[2] };
	const dg_id own = 300, other = 0;
	dg_outside_form form;
	dg_outside_ids out = { 0 };
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_stores_outside_form(alone, PARTS, DG_NODE, 2, &form, &err), &err);
	assert_int_equal(form, DG_OUTSIDE_STRINGS);
	assert_ok(dg_stores_to_outside(alone, PARTS, DG_NODE, 2, &own, 1, &out, &err), &err);
	assert_int_equal(out.offsets[1], strlen(strings[original(2, own)]));
	assert_memory_equal(out.text, strings[original(2, own)], out.offsets[1]);
	dg_outside_ids_clear(&out);
	assert_fails(dg_stores_to_outside(alone, PARTS, DG_NODE, 2, &other, 1, &out, &err),
		     DG_NOTFOUND, &err, "part 0 knows the id, its store is not opened");
	alone[2] = NULL;
	assert_fails(dg_stores_outside_form(alone, PARTS, DG_NODE, 2, &form, &err), DG_INVALID,
		     &err, "no stores");
}

static void an_id_that_is_not_there_is_refused(void **state)
{
	const dg_id past = 500;
	dg_outside_ids out;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_stores_to_outside(stores, PARTS, DG_NODE, 1, &past, 1, &out, &err),
		     DG_RANGE, &err, "node id 500 of type 1");
	assert_ok(dg_stores_to_outside(stores, PARTS, DG_NODE, 2, NULL, 0, &out, &err), &err);
	assert_int_equal(out.n, 0);
	assert_int_equal(out.offsets[0], 0);
	dg_outside_ids_clear(&out);
}

static void assert_writer_fails(const struct dgi_outside_input *input, const char *text)
{
	struct dgi_outside_writer *writer;
	dg_error err = { 0 };

	assert_fails(dgi_outside_writer_open(input, &writer, &err), DG_INVALID, &err, text);
}

static void the_same_id_twice_is_refused(void **state)
{
	struct dgi_outside_input input = input_of();
	int64_t kept = integers[400], kept_too = integers[30];
	char kept_text[24];

	(void)state;
	integers[400] = integers[30] = 77;
	write_file(types[1].path, integers, sizeof integers, "", 0);
	assert_writer_fails(&input, "outside ids of node type 'paper'");
	assert_writer_fails(&input, "id 77 is there twice");
	integers[400] = kept;
	integers[30] = kept_too;
	write_file(types[1].path, integers, sizeof integers, "", 0);
	memcpy(kept_text, strings[600], sizeof kept_text);
	memcpy(strings[600], strings[17], sizeof kept_text);
	write_strings(types[2].path);
	assert_writer_fails(&input, "is there twice");
	memcpy(strings[600], kept_text, sizeof kept_text);
	write_strings(types[2].path);
}

static void a_file_that_is_not_as_it_should_be_is_refused(void **state)
{
	struct dgi_outside_input input = input_of();
	static uint64_t offsets[N_STRINGS + 1];

	(void)state;
	write_file(types[1].path, integers, sizeof integers - 8, "", 0);
	assert_writer_fails(&input, "3992 bytes, want 4000 for 500 ids");
	write_file(types[1].path, integers, sizeof integers, "", 0);
	offsets[N_STRINGS] = 9;
	write_file(types[2].path, offsets, sizeof offsets, "12345678", 8);
	assert_writer_fails(&input, "id 699 lies from byte 0 to 9 of 8");
	write_file(types[2].path, offsets, 100, "", 0);
	assert_writer_fails(&input, "100 bytes, want 5608");
	write_strings(types[2].path);
}

static void hashes_of_integers_are_all_different(void **state)
{
	(void)state;
	/* A bijection has an inverse: the mix undone step by step. */
	for (int64_t i = -1000; i < 1000; i++)
		assert_true(dgi_outside_hash_integer(i) != dgi_outside_hash_integer(i + 1));
	assert_true(dgi_outside_hash_integer(0) == UINT64_C(0xe220a8397b1dcdaf));
}

static void strings_that_do_not_fit_an_answer_are_asked_for_again(void **state)
{
	static const int64_t ids[] = { 3, 4, 5, 6 };
	const struct dgi_ids_request request = {
		.type = 2, .operation = DGI_IDS_OUTSIDE, .n = 4, .numbers = ids
	};
	struct dgi_outside_part part;
	struct dgi_ids_answer answer;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_outside_part_open(dgi_store_volume(stores[0]), book, 0, &part, &err), &err);
	assert_ok(dgi_outside_answer(&part, &request, 1, &answer, &err), &err);
	assert_int_equal(answer.n, 1);
	dgi_ids_answer_clear(&answer);
	assert_ok(dgi_outside_answer(&part, &request, 1000, &answer, &err), &err);
	assert_int_equal(answer.n, 4);
	dgi_ids_answer_clear(&answer);
	dgi_outside_part_clear(&part);
}

static void on_finding(void *context, const dg_finding *finding)
{
	(void)context;
	print_message("%s: %s\n", finding->where, finding->what);
}

static uint64_t damage_of(uint32_t part)
{
	dg_check_report report;
	dg_error err = { 0 };
	char name[16], *path;

	(void)sprintf(name, "part%u", part);
	path = tmpdir_path(dir, name);
	assert_ok(dg_store_check(path, 1, on_finding, NULL, &report, &err), &err);
	free(path);
	return report.damaged;
}

static void stores_with_outside_ids_are_sound(void **state)
{
	(void)state;
	for (uint32_t p = 0; p < PARTS; p++)
		assert_int_equal(damage_of(p), 0);
}

/* --- Damage that checksums do not show --- */

struct broken {
	uint8_t kind;
	const int64_t *values;
	int64_t n;
};

static dg_status fill_broken(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	(void)err;
	memcpy(out, (const int64_t *)context + first, (size_t)n * sizeof(int64_t));
	return DG_OK;
}

static char found[DG_KEY_TEXT_BYTES + DG_ERROR_TEXT_BYTES + 3];

static void keep_finding(void *context, const dg_finding *finding)
{
	(void)context;
	if (finding->status && !found[0])
		(void)snprintf(found, sizeof found, "%s: %s", finding->where, finding->what);
}

/* A store of one partition and three nodes called in strings. */
static void assert_found(int64_t head_values_at, int64_t second_end, int64_t second_hash,
			 int64_t second_id, const char *text)
{
	static const char *const name[] = { "n" };
	static const int64_t count[] = { 2 };
	const struct dgi_book_spec spec = {
		.n_parts = 1, .n_node_types = 1, .node_types = name, .node_counts = count
	};
	const struct dgi_superblock superblock = { .store_uuid = { { 1 } },
						   .cluster_uuid = { { 9 } },
						   .n_parts = 1 };
	const int64_t head[] = { DG_OUTSIDE_STRINGS, 0, head_values_at, 0, 2 };
	const int64_t values[] = { 0, 3, second_end }, words[] = { 7 },
		      hashes[] = { 5, second_hash }, ids[] = { 1, second_id };
	const struct broken arrays[] = {
		{ 1, head, 5 }, { 2, values, 3 }, { 3, words, 1 }, { 4, hashes, 2 }, { 5, ids, 2 }
	};
	char *top = tmpdir_new(), *path = tmpdir_path(top, "part0");
	struct dgi_volume_maker *maker;
	struct dgi_outside_part part;
	dg_check_report report;
	dg_book *small;
	dg_store *store;
	dg_error err = { 0 };
	uint8_t *bytes;
	size_t n;

	assert_ok(dgi_book_new(&spec, &small, &err), &err);
	assert_ok(dgi_book_encode(small, &bytes, &n, &err), &err);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(dgi_volume_make(path, &superblock, bytes, n, &maker, &err), &err);
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		assert_ok(dgi_volume_maker_array(maker, DGI_OUTSIDE_ETYPE, arrays[i].kind, DG_INT64,
						 arrays[i].n, fill_broken,
						 (void *)(uintptr_t)arrays[i].values, &err),
			  &err);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
	found[0] = '\0';
	assert_ok(dg_store_check(path, 1, keep_finding, NULL, &report, &err), &err);
	if (!strstr(found, text) || (text[0] == '\0' && found[0] != '\0'))
		fail_msg("'%s' does not contain '%s'", found, text);
	/* Whoever reads it is told, or reads what is there: never past it. */
	assert_ok(dg_store_open(path, NULL, &store, &err), &err);
	if (dgi_outside_part_open(dgi_store_volume(store), small, 0, &part, &err) == DG_OK) {
		static const int64_t asked[] = { 0, 1 };
		struct dgi_ids_request request = { .operation = DGI_IDS_OUTSIDE,
						   .n = 2,
						   .numbers = asked };
		struct dgi_ids_answer answer;

		if (dgi_outside_answer(&part, &request, SIZE_MAX, &answer, &err) == DG_OK)
			dgi_ids_answer_clear(&answer);
		request.operation = DGI_IDS_LOOKUP;
		request.numbers = hashes;
		if (dgi_outside_answer(&part, &request, SIZE_MAX, &answer, &err) == DG_OK)
			dgi_ids_answer_clear(&answer);
	}
	dgi_outside_part_clear(&part);
	dg_store_close(store);
	free(bytes);
	dgi_book_free(small);
	free(path);
	tmpdir_remove(top);
}

static void arrays_that_do_not_fit_are_found_by_a_check(void **state)
{
	(void)state;
	assert_found(0, 5, 6, 0, "");
	assert_found(1, 5, 6, 0, "outside ids head: it does not fit the other arrays");
	assert_found(0, 2, 6, 0,
		     "outside ids values: element 2: a string does not lie in the text");
	assert_found(0, 9, 6, 0,
		     "outside ids values: element 2: a string does not lie in the text");
	assert_found(0, 5, 5, 0, "outside ids hashes: element 1: hashes do not ascend");
	assert_found(0, 5, 6, 2, "outside ids ids: element 1: a node id is none of the graph");
}

/* --- Through servers --- */

struct running {
	dg_server *server;
	pthread_t thread;
	dg_status status;
	dg_error err;
};

static void *run(void *context)
{
	struct running *r = context;

	r->status = dg_server_run(r->server, &r->err);
	return NULL;
}

static void start(struct running *r, uint32_t part)
{
	const dg_server_options options = { 0 };
	char name[16], *path;

	dg_store_close(stores[part]);
	stores[part] = NULL;
	(void)sprintf(name, "part%u", part);
	path = tmpdir_path(dir, name);
	assert_ok(dg_server_open(path, &options, &r->server, &r->err), &r->err);
	assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
	free(path);
}

static void assert_round_trip(dg_client *client, uint16_t type)
{
	int64_t n = dg_book_count(book, DG_NODE, type);
	dg_id *ids = malloc((size_t)n * sizeof *ids), *back = malloc((size_t)n * sizeof *back);
	dg_outside_ids out = { 0 };
	dg_error err = { 0 };

	for (int64_t i = 0; i < n; i++)
		ids[i] = n - 1 - i;
	assert_ok(dg_client_to_outside(client, DG_NODE, type, ids, (size_t)n, &out, &err), &err);
	for (int64_t i = 0; i < n; i++) {
		dg_id o = original(type, ids[i]);

		if (type == 1)
			assert_true(out.integers[i] == integers[o]);
		else
			assert_memory_equal(out.text + out.offsets[i], strings[o],
					    strlen(strings[o]));
	}
	assert_ok(dg_client_from_outside(client, DG_NODE, type, &out, back, &err), &err);
	assert_memory_equal(back, ids, (size_t)n * sizeof *ids);
	dg_outside_ids_clear(&out);
	free(ids);
	free(back);
}

static void servers_translate_as_stores_do(void **state)
{
	const struct dgi_cluster_spec spec = {
		.graph_name = "g", .part_method = "file", .cluster_uuid = { { 9 } }, .book = book
	};
	const dg_client_options options = { .timeout_ms = 60000 };
	int64_t one = 1;
	const dg_outside_ids number = { .form = DG_OUTSIDE_INTEGERS, .n = 1, .integers = &one };
	struct running servers[PARTS] = { 0 };
	char *path = tmpdir_path(dir, "g.json");
	dg_client *client = NULL;
	dg_outside_form form;
	dg_error err = { 0 };
	dg_id id;

	(void)state;
	assert_int_equal(unsetenv("DGL_IP_CONFIG"), 0);
	assert_ok(dgi_cluster_write(dir, &spec, &err), &err);
	for (uint32_t p = 0; p < PARTS; p++)
		start(&servers[p], p);
	assert_ok(dg_client_open(path, &options, &client, &err), &err);
	for (uint16_t t = 0; t < TYPES; t++) {
		assert_ok(dg_client_outside_form(client, DG_NODE, t, &form, &err), &err);
		assert_int_equal(form, t);
	}
	assert_round_trip(client, 1);
	assert_round_trip(client, 2);
	assert_fails(dg_client_from_outside(client, DG_NODE, 1, &number, &id, &err), DG_NOTFOUND,
		     &err, "no node of type 'paper' is called 1");
	dg_client_close(client);
	for (uint32_t p = 0; p < PARTS; p++) {
		dg_server_stop(servers[p].server);
		assert_int_equal(pthread_join(servers[p].thread, NULL), 0);
		assert_ok(servers[p].status, &servers[p].err);
		dg_server_close(servers[p].server);
	}
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_is_called_what_the_caller_called_it),
		cmocka_unit_test(forms_are_told_and_checked),
		cmocka_unit_test(one_store_alone_knows_what_its_own_nodes_are_called),
		cmocka_unit_test(an_id_that_is_not_there_is_refused),
		cmocka_unit_test(the_same_id_twice_is_refused),
		cmocka_unit_test(a_file_that_is_not_as_it_should_be_is_refused),
		cmocka_unit_test(hashes_of_integers_are_all_different),
		cmocka_unit_test(stores_with_outside_ids_are_sound),
		cmocka_unit_test(arrays_that_do_not_fit_are_found_by_a_check),
		cmocka_unit_test(strings_that_do_not_fit_an_answer_are_asked_for_again),
		cmocka_unit_test(
			servers_translate_as_stores_do), /* the last: it closes the stores */
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
