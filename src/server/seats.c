/* seats.c -- which connection a client's session of pushes is served on. */
#include "seats.h"

#include "bytes.h"
#include "uuid.h"

#include <stdlib.h>

void dgi_seats_init(struct dgi_seats *seats)
{
	(void)pthread_mutex_init(&seats->lock, NULL);
}

void dgi_seats_clear(struct dgi_seats *seats)
{
	(void)pthread_mutex_destroy(&seats->lock);
}

static struct dgi_seat **bucket_of(struct dgi_seats *seats, const dg_uuid *session)
{
	uint64_t mixed = (dgi_get_u64(session->bytes) ^ dgi_get_u64(session->bytes + 8)) *
			 UINT64_C(0x9e3779b97f4a7c15);

	return &seats->buckets[mixed >> 32 & (DGI_SEAT_BUCKETS - 1)];
}

/* Has a later attempt been made already? With the lock held. */
static bool is_outdated(const struct dgi_seat *bucket, const dg_uuid *session, uint64_t attempt)
{
	for (const struct dgi_seat *seat = bucket; seat; seat = seat->next)
		if (dgi_uuid_equal(&seat->session, session) && seat->attempt > attempt)
			return true;
	return false;
}

/* With the lock held. */
static void take_from(struct dgi_seat *bucket, const dg_uuid *session)
{
	for (struct dgi_seat *seat = bucket; seat; seat = seat->next)
		if (dgi_uuid_equal(&seat->session, session))
			atomic_store(&seat->is_taken, true);
}

struct dgi_seat *dgi_seats_take(struct dgi_seats *seats, const dg_uuid *session, uint64_t attempt)
{
	struct dgi_seat **bucket = bucket_of(seats, session);
	struct dgi_seat *seat = calloc(1, sizeof *seat);

	if (!seat)
		return NULL;
	seat->session = *session;
	seat->attempt = attempt;
	(void)pthread_mutex_lock(&seats->lock);
	if (attempt && is_outdated(*bucket, session, attempt))
		atomic_store(&seat->is_taken, true);
	else
		take_from(*bucket, session);
	seat->next = *bucket;
	*bucket = seat;
	(void)pthread_mutex_unlock(&seats->lock);
	return seat;
}

void dgi_seats_leave(struct dgi_seats *seats, struct dgi_seat *seat)
{
	struct dgi_seat **at;

	if (!seat)
		return;
	at = bucket_of(seats, &seat->session);
	(void)pthread_mutex_lock(&seats->lock);
	while (*at != seat)
		at = &(*at)->next;
	*at = seat->next;
	(void)pthread_mutex_unlock(&seats->lock);
	free(seat);
}

void dgi_seats_end(struct dgi_seats *seats, const dg_uuid *session)
{
	(void)pthread_mutex_lock(&seats->lock);
	take_from(*bucket_of(seats, session), session);
	(void)pthread_mutex_unlock(&seats->lock);
}
