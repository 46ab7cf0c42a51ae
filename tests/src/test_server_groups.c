/* What a server does for members of groups: answers that are held, and what frees them. */
#include "test.h"

#include "graph_fixture.h"
#include "group_message.h"
#include "served.h"
#include "tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct served served;

static int set_up(void **state)
{
	(void)state;
	served_make(&served);
	free(served.path);
	served.path = tmpdir_path(served.dir, "part0");
	served_start(&served, true, (dg_server_options){ .threads = 2 });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)served_stop(&served);
	served_remove(&served);
	return 0;
}

static struct dgi_group_claim member(unsigned id, uint32_t size)
{
	struct dgi_group_claim claim = {
		.size = size, .pid = (int64_t)id, .wanted_rank = -1, .wanted_local = -1
	};

	claim.id.bytes[0] = (uint8_t)id;
	(void)snprintf(claim.group, sizeof claim.group, "job");
	(void)snprintf(claim.role, sizeof claim.role, "trainer");
	(void)snprintf(claim.host, sizeof claim.host, "here");
	return claim;
}

static void ask(struct peer *peer, uint16_t type, const struct dgi_group_claim *claim,
		struct dgi_deadline deadline)
{
	const struct dgi_group_request request = { .claim = claim, .barrier = "b" };
	uint8_t bytes[DGI_GROUP_BYTES_MAX];
	struct dgi_body body = { .block_bytes = dgi_group_request_encode(&request, bytes) };
	struct dgi_frame frame;
	dg_error err = { 0 };
	void *block = dgi_pool_get(&peer->pool, body.block_bytes);

	assert_non_null(block);
	memcpy(block, bytes, body.block_bytes);
	body.block = block;
	frame = dgi_request((enum dgi_message_type)type, ++peer->last_id, deadline);
	assert_ok(dgi_conn_send(&peer->conn, frame, &body, &err), &err);
	(void)dgi_conn_flush(&peer->conn, NULL);
}

/* The next reply; its place is put into @claim where it has one. */
static dg_status hear(struct peer *peer, struct dgi_group_claim *claim, dg_error *err)
{
	struct dgi_group_answer answer = { .status = DG_OK };
	struct dgi_message reply;
	dg_status st;

	assert_ok(peer_next(peer, &reply, err), err);
	st = dgi_reply_check(&reply, err);
	if (!st)
		st = dgi_group_answer_decode(reply.body, reply.head_bytes, claim->size, &answer,
					     err);
	if (!st && answer.place.instance)
		claim->place = answer.place;
	dgi_message_clear(&peer->pool, &reply);
	return st;
}

static void join_two(struct peer peers[2], struct dgi_group_claim claims[2])
{
	dg_error err = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		peer_open(&peers[i], &served);
		claims[i] = member(i + 1, 2);
		ask(&peers[i], DGI_JOIN, &claims[i], soon());
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(hear(&peers[i], &claims[i], &err), &err);
		assert_int_equal(claims[i].place.rank, i);
	}
}

static void members_join_meet_and_leave(void **state)
{
	struct dgi_group_claim claims[2];
	struct peer peers[2];
	dg_error err = { 0 };

	(void)state;
	join_two(peers, claims);
	for (unsigned i = 0; i < 2; i++)
		ask(&peers[i], DGI_BARRIER, &claims[i], soon());
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(hear(&peers[i], &claims[i], &err), &err);
		assert_int_equal(claims[i].place.passed[DGI_GROUP_ALL], 1);
		ask(&peers[i], DGI_LEAVE, &claims[i], soon());
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(hear(&peers[i], &claims[i], &err), &err);
		peer_close(&peers[i]);
	}
}

static void a_barrier_ends_at_its_deadline_and_names_who_is_missing(void **state)
{
	struct dgi_group_claim claims[2];
	struct peer peers[2];
	dg_error err = { 0 };

	(void)state;
	join_two(peers, claims);
	ask(&peers[0], DGI_BARRIER, &claims[0], dgi_deadline_in(400));
	assert_fails(hear(&peers[0], &claims[0], &err), DG_TIMEOUT, &err,
		     "waits for trainer rank 1 (host here, pid 2, last seen");
	peer_close(&peers[0]);
	peer_close(&peers[1]);
}

/* Waits until the server has seen that all but @n connections are gone. */
static void wait_for_connections(uint64_t n)
{
	struct dgi_deadline deadline = soon();
	char address[DGI_ADDRESS_BYTES];
	dg_server_status status = { .connections = 0 };
	dg_error err = { 0 };

	dgi_address_format(&served.address, address);
	do {
		assert_false(dgi_deadline_passed(deadline));
		assert_ok(dg_server_status_at(address, 10000, &status, &err), &err);
	} while (status.connections != n + 1);
}

static void a_connection_that_goes_takes_what_waited_with_it(void **state)
{
	struct dgi_group_claim claims[3] = { member(1, 2), member(2, 2), member(3, 2) };
	struct peer peers[3];
	dg_error err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		peer_open(&peers[i], &served);
	ask(&peers[0], DGI_JOIN, &claims[0], soon());
	ask(&peers[0], DGI_BEAT, &claims[0], soon()); /* whose answer says that the join is there */
	assert_ok(hear(&peers[0], &claims[0], &err), &err);
	peer_close(&peers[0]);
	wait_for_connections(2);
	ask(&peers[1], DGI_JOIN, &claims[1], soon());
	ask(&peers[2], DGI_JOIN, &claims[2], soon());
	for (unsigned i = 1; i < 3; i++) {
		assert_ok(hear(&peers[i], &claims[i], &err), &err);
		assert_int_equal(claims[i].place.rank, i - 1);
		peer_close(&peers[i]);
	}
}

static void a_server_that_ends_tells_those_that_wait_to_ask_the_next(void **state)
{
	struct dgi_group_claim claims[2];
	struct peer peers[2], again;
	dg_error err = { 0 };

	(void)state;
	join_two(peers, claims);
	ask(&peers[0], DGI_BARRIER, &claims[0], soon());
	ask(&peers[0], DGI_BEAT, &claims[0], soon());
	assert_ok(hear(&peers[0], &claims[0], &err), &err);
	assert_true(served_stop(&served) < 3000);
	assert_int_equal(hear(&peers[0], &claims[0], &err), DG_CLOSED);
	served_start(&served, true, (dg_server_options){ .threads = 2 });
	/* The next knows nothing but what members say. */
	peer_open(&again, &served);
	ask(&again, DGI_BARRIER, &claims[0], soon());
	ask(&again, DGI_BARRIER, &claims[1], soon());
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(hear(&again, &claims[i], &err), &err);
		assert_int_equal(claims[i].place.passed[DGI_GROUP_ALL], 1);
	}
	peer_close(&again);
	peer_close(&peers[0]);
	peer_close(&peers[1]);
}

static void a_connection_holds_a_few_requests_and_no_more(void **state)
{
	struct dgi_group_claim claim;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served);
	for (unsigned i = 0; i < 8; i++) {
		claim = member(i + 1, 100);
		ask(&peer, DGI_JOIN, &claim, soon());
	}
	claim = member(9, 100);
	ask(&peer, DGI_JOIN, &claim, soon());
	assert_fails(hear(&peer, &claim, &err), DG_BUSY, &err, "8 requests");
	peer_close(&peer);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(members_join_meet_and_leave),
		CASE(a_barrier_ends_at_its_deadline_and_names_who_is_missing),
		CASE(a_connection_that_goes_takes_what_waited_with_it),
		CASE(a_server_that_ends_tells_those_that_wait_to_ask_the_next),
		CASE(a_connection_holds_a_few_requests_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
