/* A server whose disk fails acknowledges nothing more, says why, and ends. */
#include "test.h"

#include "graph_fixture.h"
#include "served.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int sync_fails;

/* liblmdb finds this one before the C library's. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	if (atomic_load(&sync_fails)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void a_failed_disk_ends_the_server_and_loses_nothing_acknowledged(void **state)
{
	const float first[4] = { 1, 1, 1, 1 }, second[4] = { 2, 2, 2, 2 };
	float out[4];
	const dg_id id = 13;
	struct served served;
	struct dgi_pushed pushed;
	struct peer peer;
	dg_error err = { 0 };
	dg_status st;

	(void)state;
	served_make(&served);
	served_start(&served, false, (dg_server_options){ .threads = 2 });
	peer_open(&peer, &served);
	assert_ok(peer_push(&peer, FEAT, &id, 1, first, ROW_BYTES, &pushed, &err), &err);
	atomic_store(&sync_fails, 1);
	st = peer_push(&peer, FEAT, &id, 1, second, ROW_BYTES, &pushed, &err);
	if (st != DG_IO && st != DG_CLOSED)
		fail_msg("acknowledged, or %s: %s", dg_status_text(st), err.text);
	(void)pthread_join(served.thread, NULL); /* it ends by itself */
	assert_fails(served.status, DG_IO, &served.error, "part1");
	peer_close(&peer);
	dg_server_close(served.server);

	atomic_store(&sync_fails, 0);
	served_start(&served, false, (dg_server_options){ 0 });
	peer_open(&peer, &served);
	assert_ok(peer_pull(&peer, FEAT, &id, 1, out, &err), &err);
	assert_true(out[0] == 1 || out[0] == 2); /* never acknowledged, so either is right */
	peer_close(&peer);
	(void)served_stop(&served);
	served_remove(&served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_disk_ends_the_server_and_loses_nothing_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
