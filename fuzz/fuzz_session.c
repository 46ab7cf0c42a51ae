/*
 * A connection from its bytes to its session: frames are put together however they are cut, requests
 * are checked and decoded, pushes go by number into the engine's table, pulls wait for them; replies
 * go to a client's session with pushes under way. Nothing may crash, no number may count twice, no
 * pull may wait for a push that has not come.
 *
 * The first byte is how long the pieces are, the second how many pushes the client has; the rest is the
 * stream. Its headers' checks and versions are put right first, or else nothing but refusals would be
 * tested.
 */
#include "client_session.h"
#include "inbox.h"
#include "server_session.h"
#include "sessions.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define NUMBERS 512 /* the first so many are counted */
#define PUSHES 80   /* of the client */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct peer {
	struct dgi_server_session server;
	struct dgi_sessions *table;
	uint8_t counts[NUMBERS];
	struct dgi_client_session client;
	struct dgi_kept_push pushes[PUSHES];
	bool is_over;
};

static void expect(bool condition)
{
	if (!condition)
		abort();
}

/* --- Requests --- */

static void apply(struct peer *p, const struct dgi_push *push)
{
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;

	if (dgi_sessions_look(p->table, &p->server.id, push->number, push->floor, &novelty, &mark,
			      NULL) != DG_OK)
		return;
	if (novelty == DGI_PUSH_NEW) {
		expect(dgi_sessions_set(p->table, &mark, NULL) == DG_OK);
		expect(push->number >= NUMBERS || p->counts[push->number]++ == 0);
	}
	expect(dgi_sessions_look(p->table, &p->server.id, push->number, 0, &novelty, &mark, NULL) ==
		       DG_OK &&
	       novelty == DGI_PUSH_REPEAT);
}

static void take_push(struct peer *p, const struct dgi_message *m)
{
	struct dgi_push push;
	dg_status st = dgi_push_decode(m->body, m->head_bytes, &push, NULL);

	if (st)
		return;
	st = dgi_server_session_push(&p->server, &push, NULL);
	p->is_over = st == DG_PROTO;
	if (st)
		return;
	expect(push.number != 0);
	dgi_server_session_hand_on(&p->server);
	if (push.tensor % 2) /* applied, or still waiting */
		dgi_server_session_settle(&p->server, p->server.n_handed_on - p->server.n_settled);
	apply(p, &push);
}

static void take_pull(struct peer *p, const struct dgi_message *m)
{
	struct dgi_pull pull;
	uint64_t turn;
	dg_status st = dgi_pull_decode(m->body, m->head_bytes, &pull, NULL);

	if (st)
		return;
	st = dgi_server_session_pull(&p->server, pull.after, &turn, NULL);
	p->is_over = st == DG_PROTO;
	expect(st || turn <= p->server.n_handed_on);
}

static void take_request(struct peer *p, const struct dgi_message *m)
{
	struct dgi_session_end end;
	struct dgi_hello hello;
	struct dgi_session_mark mark;

	if (dgi_message_check(&m->frame, NULL) != DG_OK)
		return;
	if (m->frame.type == DGI_PUSH)
		take_push(p, m);
	else if (m->frame.type == DGI_PULL)
		take_pull(p, m);
	else if (m->frame.type == DGI_HELLO)
		(void)dgi_hello_decode(m->body, m->head_bytes, &hello, NULL);
	else if (m->frame.type == DGI_SESSION &&
		 dgi_session_end_decode(m->body, m->head_bytes, &end, NULL) == DG_OK &&
		 end.operation == DGI_SESSION_EXPIRE) {
		p->server.is_taken = true;
		if (dgi_sessions_expire(p->table, &p->server.id, &mark, NULL) == DG_OK)
			expect(dgi_sessions_set(p->table, &mark, NULL) == DG_OK);
	}
}

/* --- Replies --- */

static void send_all(struct peer *p)
{
	struct dgi_kept_push *push;
	struct dgi_push numbers = { 0 };

	while ((push = dgi_client_session_next(&p->client))) {
		dgi_client_session_numbers(&p->client, push, &numbers);
		expect(numbers.floor <= numbers.number &&
		       numbers.number - numbers.floor < DGI_PUSH_WINDOW);
		dgi_client_session_sent(&p->client, push);
	}
}

static void welcome(struct peer *p, const struct dgi_message *m)
{
	struct dgi_welcome w;

	if (dgi_welcome_decode(m->body, m->head_bytes, &w, NULL) != DG_OK)
		return;
	if (dgi_client_session_welcome(&p->client, &w, NULL) != DG_OK)
		dgi_client_session_lost(&p->client);
}

static void check_kept(const struct peer *p)
{
	uint64_t n = 0, last = 0;

	for (const struct dgi_kept_push *push = p->client.first; push; push = push->next, n++) {
		expect(push->number > last);
		last = push->number;
	}
	expect(n == p->client.n_kept);
}

static void take_reply(struct peer *p, const struct dgi_message *m)
{
	struct dgi_pushed pushed = { 0 };
	struct dgi_kept_push *done;
	uint64_t after;

	if (m->frame.status == DG_OK && dgi_message_check(&m->frame, NULL) != DG_OK)
		return;
	dgi_client_session_heard(&p->client, &m->frame);
	if (m->frame.type == DGI_HELLO && m->frame.status == DG_OK)
		welcome(p, m);
	if (m->frame.type == DGI_PUSH &&
	    (m->frame.status != DG_OK ||
	     dgi_pushed_decode(m->body, m->head_bytes, &pushed, NULL) == DG_OK))
		(void)dgi_client_session_answered(&p->client, m->frame.request_id,
						  (dg_status)m->frame.status, pushed.log_number);
	while ((done = dgi_client_session_take_done(&p->client)))
		expect(done->state == DGI_PUSH_DONE);
	if (dgi_client_session_pull(&p->client, &after))
		expect(after == p->client.last_sent);
	check_kept(p);
	send_all(p);
}

/* --- The stream --- */

static void take_all(struct peer *p, struct dgi_inbox *in)
{
	enum dgi_inbox_answer answer = DGI_INBOX_MESSAGE;
	struct dgi_message m;

	while (!p->is_over && answer == DGI_INBOX_MESSAGE) {
		p->is_over = dgi_inbox_next(in, &answer, &m, NULL) != DG_OK;
		if (p->is_over || answer != DGI_INBOX_MESSAGE)
			return;
		if (m.frame.flags & DGI_FRAME_REPLY)
			take_reply(p, &m);
		else
			take_request(p, &m);
		dgi_message_clear(in->pool, &m);
	}
}

static size_t feed(struct dgi_inbox *in, const uint8_t *bytes, size_t n)
{
	struct iovec room[DGI_INBOX_ROOM_MAX];
	int rooms = dgi_inbox_room(in, room);
	size_t fed = 0;

	for (int i = 0; i < rooms && fed < n; i++) {
		size_t piece = n - fed < room[i].iov_len ? n - fed : room[i].iov_len;

		memcpy(room[i].iov_base, bytes + fed, piece);
		fed += piece;
	}
	dgi_inbox_filled(in, fed);
	return fed;
}

/* Makes magic, version and check right, header after header, as a reader would find them. */
static void mend(uint8_t *stream, size_t n)
{
	static const uint8_t begin[6] = { 'D', 'G', 'F', '1', DGI_PROTOCOL_VERSION, 0 };
	size_t at = 0;

	while (n - at >= DGI_FRAME_BYTES) {
		uint64_t body_bytes, check;

		memcpy(stream + at, begin, sizeof begin);
		check = XXH3_64bits(stream + at, DGI_FRAME_BYTES - 8);
		memcpy(stream + at + DGI_FRAME_BYTES - 8, &check, 8);
		memcpy(&body_bytes, stream + at + 24, 8);
		at += DGI_FRAME_BYTES;
		if (body_bytes > n - at)
			return;
		at += (size_t)body_bytes;
	}
}

static void begin(struct peer *p, size_t n_pushes)
{
	const dg_uuid id = { { 1 } };
	const struct dgi_welcome first = { .incarnation = 1 };

	memset(p, 0, sizeof *p);
	dgi_server_session_init(&p->server, &id);
	expect(dgi_sessions_new(&p->table, NULL) == DG_OK);
	dgi_client_session_init(&p->client, &id);
	expect(dgi_client_session_welcome(&p->client, &first, NULL) == DG_OK);
	for (size_t i = 0; i < n_pushes; i++)
		dgi_client_session_add(&p->client, &p->pushes[i], 2000);
	send_all(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct peer p;
	static struct dgi_inbox in;
	struct dgi_pool pool = dgi_pool_of(1 << 20);
	uint8_t *stream;

	if (n < 2)
		return 0;
	stream = malloc(n);
	if (!stream)
		return 0;
	memcpy(stream, data + 2, n - 2);
	mend(stream, n - 2);
	begin(&p, data[1] % (PUSHES + 1));
	dgi_inbox_init(&in, &pool, DGI_FRAME_BODY_BYTES_EARLY);
	for (size_t at = 0; at < n - 2 && !p.is_over;) {
		size_t piece = (size_t)data[0] * 4 + 1;

		at += feed(&in, stream + at, piece < n - 2 - at ? piece : n - 2 - at);
		take_all(&p, &in);
	}
	dgi_inbox_clear(&in);
	dgi_pool_clear(&pool);
	dgi_sessions_free(p.table);
	free(stream);
	return 0;
}
