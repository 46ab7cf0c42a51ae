/* client_session.c -- what a client remembers of its pushes to one server. */
#include "client_session.h"

#include "check.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>

void dgi_client_session_init(struct dgi_client_session *s, const dg_uuid *id)
{
	DGI_ASSERT(!dgi_uuid_is_zero(id));
	*s = (struct dgi_client_session){ .id = *id };
}

void dgi_client_session_add(struct dgi_client_session *s, struct dgi_kept_push *push, uint64_t cost)
{
	*push = (struct dgi_kept_push){ .number = ++s->last_number, .cost = cost };
	if (s->last)
		s->last->next = push;
	else
		s->first = push;
	s->last = push;
	s->open = s->open ? s->open : push;
	s->waiting = s->waiting ? s->waiting : push;
	s->n_kept++;
}

static bool is_open(const struct dgi_kept_push *p)
{
	return p->state == DGI_PUSH_WAITING || p->state == DGI_PUSH_SENT ||
	       p->state == DGI_PUSH_UNKNOWN;
}

static bool is_done(const struct dgi_client_session *s, const struct dgi_kept_push *p)
{
	return p->state == DGI_PUSH_DONE ||
	       (p->state == DGI_PUSH_PROMISED && p->log_number <= s->durable);
}

/* Sets both places again, none of which lies before @from. */
static void seek(struct dgi_client_session *s, struct dgi_kept_push *from)
{
	while (from && !is_open(from))
		from = from->next;
	s->open = from;
	while (from && from->state != DGI_PUSH_WAITING)
		from = from->next;
	s->waiting = from;
}

/* --- Connections --- */

void dgi_client_session_hello(struct dgi_client_session *s, struct dgi_hello *hello)
{
	hello->session_uuid = s->id;
	hello->incarnation = s->incarnation;
	hello->durable = s->durable;
	hello->attempt = ++s->attempts;
}

void dgi_client_session_lost(struct dgi_client_session *s)
{
	s->is_connected = false;
	s->last_sent = 0;
	s->credits = DGI_CREDITS_EARLY;
	s->unanswered = 0;
	s->n_requests = 0;
	for (struct dgi_kept_push *p = s->first; p; p = p->next)
		if (is_open(p))
			p->state = DGI_PUSH_WAITING;
	seek(s, s->first);
}

dg_status dgi_client_session_welcome(struct dgi_client_session *s,
				     const struct dgi_welcome *welcome, dg_error *err)
{
	if (welcome->incarnation < s->incarnation || welcome->log_number < s->durable)
		return dgi_fail(err, DG_MISMATCH,
				"the store is at start %" PRIu64 ", write %" PRIu64
				", but was at start %" PRIu64 " before and had written %" PRIu64
				" down: an older copy of it is served",
				welcome->incarnation, welcome->log_number, s->incarnation,
				s->durable);
	dgi_client_session_lost(s);
	/* Log numbers of promised pushes are the old incarnation's, which gave those that were lost
	 * with it to others. Within one incarnation nothing promised is lost. */
	for (struct dgi_kept_push *p = s->first; p && welcome->incarnation != s->incarnation;
	     p = p->next)
		if (p->state == DGI_PUSH_PROMISED && !is_done(s, p)) {
			p->state = DGI_PUSH_WAITING;
			s->n_repeated++;
		}
	seek(s, s->first);
	s->incarnation = welcome->incarnation;
	s->is_connected = true;
	return DG_OK;
}

/* --- Sending --- */

/* Every push below this number has been answered, or never will be sent. */
static uint64_t floor_of(const struct dgi_client_session *s)
{
	return s->open ? s->open->number : s->last_number + 1;
}

bool dgi_client_session_may_begin(const struct dgi_client_session *s, uint64_t cost)
{
	/* One alone may exceed the credits: it would wait for ever. */
	return s->is_connected &&
	       (s->n_requests == 0 || (cost <= s->credits && s->unanswered <= s->credits - cost));
}

struct dgi_kept_push *dgi_client_session_next(const struct dgi_client_session *s)
{
	struct dgi_kept_push *p = s->waiting;

	if (!p || p->number - floor_of(s) >= DGI_PUSH_WINDOW ||
	    !dgi_client_session_may_begin(s, p->cost))
		return NULL;
	return p;
}

void dgi_client_session_numbers(const struct dgi_client_session *s,
				const struct dgi_kept_push *push, struct dgi_push *out)
{
	out->number = push->number;
	out->previous = s->last_sent;
	out->floor = floor_of(s);
}

void dgi_client_session_began(struct dgi_client_session *s, uint64_t cost)
{
	s->unanswered += cost;
	s->n_requests++;
}

void dgi_client_session_ended(struct dgi_client_session *s, uint64_t cost)
{
	DGI_ASSERT(s->n_requests > 0 && s->unanswered >= cost);
	s->unanswered -= cost;
	s->n_requests--;
}

void dgi_client_session_sent(struct dgi_client_session *s, struct dgi_kept_push *push)
{
	DGI_ASSERT(push->state == DGI_PUSH_WAITING && s->is_connected);
	push->state = DGI_PUSH_SENT;
	s->last_sent = push->number;
	seek(s, s->open);
	dgi_client_session_began(s, push->cost);
}

bool dgi_client_session_pull(const struct dgi_client_session *s, uint64_t *after)
{
	if (s->waiting || s->n_repeated)
		return false;
	*after = s->last_sent;
	return true;
}

/* --- Replies --- */

void dgi_client_session_heard(struct dgi_client_session *s, const struct dgi_frame *reply)
{
	s->credits = reply->credits;
	if (reply->durable > s->durable)
		s->durable = reply->durable;
}

/* Nothing is wrong with it: the same will be taken when there is room. */
static bool may_pass(dg_status status)
{
	return status == DG_FULL || status == DG_NOMEM || status == DG_TIMEOUT || status == DG_BUSY;
}

struct dgi_kept_push *dgi_client_session_answered(struct dgi_client_session *s, uint64_t number,
						  dg_status status, uint64_t log_number)
{
	struct dgi_kept_push *p = s->open;
	bool was_repeated;

	while (p && p->number < number)
		p = p->next;
	if (!p || p->number != number || p->state != DGI_PUSH_SENT)
		return NULL;
	dgi_client_session_ended(s, p->cost);
	p->status = status;
	was_repeated = p->was_promised;
	if (status == DG_OK) {
		p->state = DGI_PUSH_PROMISED;
		p->was_promised = true;
		p->log_number = log_number;
	} else if (p->was_promised && may_pass(status)) {
		p->state = DGI_PUSH_WAITING;
	} else if (status == DG_CLOSED || status == DG_IO) {
		p->state = DGI_PUSH_UNKNOWN;
	} else {
		p->state = DGI_PUSH_DONE;
		s->n_refused++;
	}
	if (was_repeated && !is_open(p))
		s->n_repeated--;
	seek(s, s->open);
	return p;
}

/* What is on disk stands in front; a refused one anywhere. */
struct dgi_kept_push *dgi_client_session_take_done(struct dgi_client_session *s)
{
	struct dgi_kept_push *previous = NULL, *p = s->first;

	while (p && !is_done(s, p) && s->n_refused) {
		previous = p;
		p = p->next;
	}
	if (!p || !is_done(s, p))
		return NULL;
	if (previous)
		previous->next = p->next;
	else
		s->first = p->next;
	if (s->last == p)
		s->last = previous;
	if (p->state == DGI_PUSH_DONE)
		s->n_refused--;
	s->n_kept--;
	p->next = NULL;
	p->state = DGI_PUSH_DONE;
	return p;
}
