/* lmdb_file.c -- small data files written by liblmdb itself. */
#include "lmdb_file.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP_BYTES (64 << 20)

static void must(int code)
{
	if (code != 0) {
		fprintf(stderr, "lmdb: %s\n", mdb_strerror(code));
		abort();
	}
}

static MDB_env *open_env(const char *path, unsigned flags)
{
	MDB_env *env;

	must(mdb_env_create(&env));
	must(mdb_env_set_mapsize(env, MAP_BYTES));
	must(mdb_env_set_maxdbs(env, 4));
	must(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | flags, 0600));
	return env;
}

static MDB_txn *begin(MDB_env *env, unsigned flags, const char *name, unsigned db_flags,
		      MDB_dbi *dbi)
{
	MDB_txn *txn;

	must(mdb_txn_begin(env, NULL, flags, &txn));
	must(mdb_dbi_open(txn, name, db_flags, dbi));
	return txn;
}

/* Sizes around every border, and some in between. */
static size_t size_of(uint32_t i)
{
	static const size_t sizes[] = { 0,    1,    8,	  100,	100,  500,  2027, 2028, 2029,
					4079, 4080, 4081, 8176, 8177, 9000, 3,	  40,	65520 };

	return sizes[i % (sizeof sizes / sizeof *sizes)];
}

static void put(MDB_txn *txn, MDB_dbi dbi, uint32_t i)
{
	uint8_t key_bytes[500];
	/* A few keys are long, so that branches have few children and the tree grows deep. */
	size_t key_length = i % 7 == 0 ? sizeof key_bytes : 9;
	MDB_val key = { key_length, key_bytes };
	MDB_val value = { size_of(i), NULL };

	memset(key_bytes, 'k', sizeof key_bytes);
	snprintf((char *)key_bytes, 9, "%08u", i * 2654435761U % 100000000U);
	must(mdb_put(txn, dbi, &key, &value, MDB_RESERVE));
	memset(value.mv_data, (int)i, value.mv_size);
}

static void delete_some(MDB_txn *txn, MDB_dbi dbi, int every)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	int i = 0;

	must(mdb_cursor_open(txn, dbi, &cursor));
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
		if (i++ % every == 0)
			must(mdb_cursor_del(cursor, 0));
	mdb_cursor_close(cursor);
}

void lmdb_file_make(const char *path, int n_transactions, int puts_each)
{
	MDB_env *env = open_env(path, 0);
	uint32_t n = 0;
	MDB_dbi dbi;

	for (int t = 0; t < n_transactions; t++) {
		MDB_txn *txn = begin(env, 0, NULL, 0, &dbi);

		for (int i = 0; i < puts_each; i++)
			put(txn, dbi, n++);
		if (t % 3 == 2)
			delete_some(txn, dbi, 4);
		must(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
}

void lmdb_file_make_empty(const char *path)
{
	MDB_env *env = open_env(path, 0);
	MDB_dbi dbi;
	MDB_txn *txn = begin(env, 0, NULL, 0, &dbi);

	put(txn, dbi, 0);
	must(mdb_txn_commit(txn));
	txn = begin(env, 0, NULL, 0, &dbi);
	delete_some(txn, dbi, 1);
	must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

void lmdb_file_make_named(const char *path)
{
	MDB_env *env = open_env(path, 0);
	MDB_dbi dbi;
	MDB_txn *txn = begin(env, 0, "name", MDB_CREATE, &dbi);

	put(txn, dbi, 0);
	must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

void lmdb_file_make_duplicates(const char *path)
{
	MDB_env *env = open_env(path, 0);
	char letters[] = "kab";
	MDB_val key = { 1, letters };
	MDB_val first = { 1, letters + 1 }, second = { 1, letters + 2 };
	MDB_dbi dbi;
	MDB_txn *txn = begin(env, 0, NULL, MDB_DUPSORT | MDB_CREATE, &dbi);

	must(mdb_put(txn, dbi, &key, &first, 0));
	must(mdb_put(txn, dbi, &key, &second, 0));
	must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

static uint64_t count_free(MDB_txn *txn)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	uint64_t n, sum = 0;

	must(mdb_cursor_open(txn, 0, &cursor)); /* database 0 is the free list */
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
		memcpy(&n, value.mv_data, sizeof n);
		sum += n;
	}
	mdb_cursor_close(cursor);
	return sum;
}

struct lmdb_counts lmdb_file_count(const char *path)
{
	MDB_env *env = open_env(path, MDB_RDONLY);
	MDB_envinfo info;
	MDB_stat main_stat, free_stat;
	struct lmdb_counts counts;
	MDB_dbi dbi;
	MDB_txn *txn = begin(env, MDB_RDONLY, NULL, 0, &dbi);

	must(mdb_env_info(env, &info));
	must(mdb_stat(txn, dbi, &main_stat));
	must(mdb_stat(txn, 0, &free_stat));
	counts = (struct lmdb_counts){
		.branch = main_stat.ms_branch_pages + free_stat.ms_branch_pages,
		.leaf = main_stat.ms_leaf_pages + free_stat.ms_leaf_pages,
		.overflow = main_stat.ms_overflow_pages + free_stat.ms_overflow_pages,
		.entries = main_stat.ms_entries,
		.free = count_free(txn),
		.last_page = info.me_last_pgno,
		.transaction = info.me_last_txnid,
	};
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return counts;
}

void lmdb_file_each(const char *path,
		    void (*fn)(void *context, const void *key, size_t key_bytes, const void *value,
			       size_t value_bytes),
		    void *context)
{
	MDB_env *env = open_env(path, MDB_RDONLY);
	MDB_cursor *cursor;
	MDB_val key, value;
	MDB_dbi dbi;
	MDB_txn *txn = begin(env, MDB_RDONLY, NULL, 0, &dbi);

	must(mdb_cursor_open(txn, dbi, &cursor));
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
		fn(context, key.mv_data, key.mv_size, value.mv_data, value.mv_size);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}
