/* server_session.c -- what a server makes of the numbers of a client's pushes on one connection. */
#include "server_session.h"

#include "check.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>

void dgi_server_session_init(struct dgi_server_session *s, const dg_uuid *id)
{
	*s = (struct dgi_server_session){ .id = *id };
}

static dg_status check_taken(const struct dgi_server_session *s, dg_error *err)
{
	char id[DG_UUID_TEXT_BYTES];

	if (!s->is_taken)
		return DG_OK;
	dgi_uuid_text(&s->id, id);
	return dgi_fail(err, DG_DENIED,
			"session %s: it has ended, or another connection has taken it over", id);
}

dg_status dgi_server_session_push(struct dgi_server_session *s, const struct dgi_push *push,
				  dg_error *err)
{
	bool has_session = !dgi_uuid_is_zero(&s->id);

	if (has_session != (push->number != 0))
		return dgi_fail(err, DG_PROTO,
				"push number %" PRIu64 " on a connection %s a session",
				push->number, has_session ? "with" : "without");
	/* A frame that comes twice too: the first may have been refused, and its client been told. */
	if (has_session && push->previous != s->last_number)
		return dgi_fail(err, DG_PROTO,
				"push number %" PRIu64 " follows %" PRIu64
				", but the newest that has come is %" PRIu64,
				push->number, push->previous, s->last_number);
	if (check_taken(s, err) != DG_OK)
		return DG_DENIED;
	if (has_session)
		s->last_number = push->number;
	return DG_OK;
}

void dgi_server_session_hand_on(struct dgi_server_session *s)
{
	s->n_handed_on++;
}

void dgi_server_session_settle(struct dgi_server_session *s, uint64_t n)
{
	DGI_ASSERT(n <= s->n_handed_on - s->n_settled);
	s->n_settled += n;
}

dg_status dgi_server_session_pull(const struct dgi_server_session *s, uint64_t after,
				  uint64_t *turn, dg_error *err)
{
	if (after == 0) {
		*turn = 0;
		return DG_OK;
	}
	if (after != s->last_number)
		return dgi_fail(err, DG_PROTO,
				"pull after push number %" PRIu64
				", but the newest that has come is %" PRIu64,
				after, s->last_number);
	if (check_taken(s, err) != DG_OK)
		return DG_DENIED;
	*turn = s->n_handed_on;
	return DG_OK;
}
