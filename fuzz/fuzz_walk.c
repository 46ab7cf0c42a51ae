/*
 * Any bytes as a data file: walked or refused, never a crash, never without end. What the full walk
 * finds sound, the plain one takes, and both give the same records.
 */
#include "page.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile uint8_t sink;

static void read_bytes(const uint8_t *bytes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink ^= bytes[i];
}

static dg_status count(void *context, const struct dgi_walk_record *record, dg_error *err)
{
	uint64_t *records = context;

	(void)err;
	read_bytes(record->key, record->key_bytes);
	if (record->value)
		read_bytes(record->value, record->value_bytes);
	++*records;
	return DG_OK;
}

static void note(void *context, const dg_finding *finding)
{
	uint64_t *damaged = context;

	*damaged += finding->status != DG_OK;
}

static void walk_both_ways(int fd)
{
	uint64_t records_plain = 0, records = 0, damaged = 0;
	struct dgi_walk_options plain = { .file_name = "f" };
	struct dgi_walk_options full = {
		.account = true,
		.headers = true,
		.found = note,
		.found_context = &damaged,
		.file_name = "f",
	};
	struct dgi_walk_report report;
	dg_error err;
	dg_status st_plain = dgi_walk(fd, &plain, count, &records_plain, &report, &err);
	dg_status st = dgi_walk(fd, &full, count, &records, &report, &err);

	if (st == DG_OK && damaged != report.damaged)
		abort();
	if (st == DG_OK && damaged == 0 && (st_plain != DG_OK || records != records_plain))
		abort();
}

/* One page in memory of exactly its size, so that a sanitizer sees a read behind its end. */
static void decode_page(const uint8_t *data, uint64_t number)
{
	uint8_t *page = malloc(DGI_PAGE_BYTES);
	struct dgi_meta meta;
	size_t n_nodes;

	if (!page)
		return;
	memcpy(page, data, DGI_PAGE_BYTES);
	(void)dgi_meta_decode(page, number % 2, &meta, NULL);
	if (dgi_page_check(page, number, DGI_PAGE_BRANCH, &n_nodes, NULL) == DG_OK)
		for (size_t i = 0; i < n_nodes; i++) {
			struct dgi_node node = dgi_branch_node(page, i);

			read_bytes(node.key, node.key_bytes);
		}
	if (dgi_page_check(page, number, DGI_PAGE_LEAF, &n_nodes, NULL) == DG_OK)
		for (size_t i = 0; i < n_nodes; i++) {
			struct dgi_node node = dgi_leaf_node(page, i);

			read_bytes(node.key, node.key_bytes);
			if (node.value)
				read_bytes(node.value, node.value_bytes);
		}
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("walk", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	walk_both_ways(fd);
	(void)close(fd);
	for (size_t page = 0; page < n / DGI_PAGE_BYTES; page++)
		decode_page(data + page * DGI_PAGE_BYTES, page);
	return 0;
}
