/* history.c -- what clients did and saw, and whether it can be true. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

struct history *history_new(size_t n_clients, size_t n_rows)
{
	struct history *h;
	size_t bytes = sizeof *h + n_clients * n_rows * sizeof h->cells[0];

	h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h == MAP_FAILED)
		return NULL;
	h->n_clients = n_clients;
	h->n_rows = n_rows;
	h->bytes = bytes;
	return h;
}

void history_free(struct history *h)
{
	if (h)
		(void)munmap(h, h->bytes);
}

static size_t cell_at(const struct history *h, dg_id row, size_t client)
{
	return (size_t)row * h->n_clients + client;
}

void history_send(struct history *h, size_t client, const dg_id *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)atomic_fetch_add(&h->cells[cell_at(h, rows[i], client)].sent, 1);
}

void history_acknowledge(struct history *h, size_t client, const dg_id *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)atomic_fetch_add(&h->cells[cell_at(h, rows[i], client)].acknowledged, 1);
	(void)atomic_fetch_add(&h->n_pushes, 1);
}

void history_refuse(struct history *h, size_t client, const dg_id *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)atomic_fetch_sub(&h->cells[cell_at(h, rows[i], client)].sent, 1);
}

void history_begin_read(const struct history *h, size_t reader, const dg_id *rows, size_t n,
			uint32_t *out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t client = 0; client < h->n_clients; client++) {
			const struct history_cell *cell = &h->cells[cell_at(h, rows[i], client)];

			out[i * h->n_clients + client] =
				atomic_load(client == reader ? &cell->sent : &cell->acknowledged);
		}
}

/* Is @found a whole number within [least, most]? */
static bool is_within(float found, uint32_t least, uint32_t most)
{
	return found >= 0 && found <= 16777216 && (float)(uint32_t)found == found &&
	       (uint32_t)found >= least && (uint32_t)found <= most;
}

bool history_check_read(const struct history *h, const dg_id *rows, size_t n, const uint32_t *least,
			const float *found, char *text, size_t size)
{
	for (size_t i = 0; i < n; i++)
		for (size_t client = 0; client < h->n_clients; client++) {
			size_t at = i * h->n_clients + client;
			uint32_t most = atomic_load(&h->cells[cell_at(h, rows[i], client)].sent);

			if (is_within(found[at], least[at], most))
				continue;
			(void)snprintf(text, size,
				       "row %" PRId64 ": of client %zu's pushes %g are counted, "
				       "want %" PRIu32 " to %" PRIu32,
				       rows[i], client, (double)found[at], least[at], most);
			return false;
		}
	return true;
}

bool history_check_end(const struct history *h, const float *found, char *text, size_t size)
{
	for (size_t row = 0; row < h->n_rows; row++)
		for (size_t client = 0; client < h->n_clients; client++) {
			size_t at = row * h->n_clients + client;
			uint32_t sent = atomic_load(&h->cells[at].sent);
			uint32_t acknowledged = atomic_load(&h->cells[at].acknowledged);

			if (sent == acknowledged && is_within(found[at], sent, sent))
				continue;
			(void)snprintf(text, size,
				       "row %zu: of client %zu's pushes %g are counted, "
				       "%" PRIu32 " were acknowledged, %" PRIu32 " sent",
				       row, client, (double)found[at], acknowledged, sent);
			return false;
		}
	return true;
}
