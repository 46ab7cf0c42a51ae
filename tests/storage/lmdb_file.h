/* lmdb_file.h -- small data files written by liblmdb itself, to try the walk on. */
#ifndef DGI_LMDB_FILE_H
#define DGI_LMDB_FILE_H

#include <stddef.h>
#include <stdint.h>

/* What liblmdb says of a file. */
struct lmdb_counts {
	uint64_t branch, leaf, overflow, entries, free, last_page, transaction;
};

/* Writes the file: @n_transactions, each putting values of many sizes and deleting some. */
void lmdb_file_make(const char *path, int n_transactions, int puts_each);
/* An empty file: one transaction that put and one that deleted. */
void lmdb_file_make_empty(const char *path);
/* A file with a feature that none of ours has. */
void lmdb_file_make_named(const char *path);
void lmdb_file_make_duplicates(const char *path);
struct lmdb_counts lmdb_file_count(const char *path);

/* Calls @fn for each record as liblmdb gives them. */
void lmdb_file_each(const char *path,
		    void (*fn)(void *context, const void *key, size_t key_bytes, const void *value,
			       size_t value_bytes),
		    void *context);

#endif
