/*
 * Any bytes as a session table: decoded or refused, never a crash. What decodes encodes to a table
 * that is the same again; and of each session that it holds, the newest push is a repeat.
 */
#include "sessions.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect_repeats(struct dgi_sessions *sessions, const uint8_t *marks, size_t n)
{
	for (size_t at = 0; at < n; at += DGI_SESSION_MARK_BYTES) {
		enum dgi_push_novelty novelty;
		struct dgi_session_mark mark;
		uint64_t number;
		dg_uuid id;
		dg_error err;

		memcpy(id.bytes, marks + at, sizeof id.bytes);
		memcpy(&number, marks + at + sizeof id.bytes, sizeof number);
		if (dgi_sessions_look(sessions, &id, number, 0, &novelty, &mark, &err) == DG_OK &&
		    (number == UINT64_MAX || novelty != DGI_PUSH_REPEAT || mark.number != number))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_sessions *sessions, *again;
	uint8_t *first, *second;
	size_t n_first, n_second;
	dg_error err;

	if (dgi_sessions_new(&sessions, &err) != DG_OK)
		return 0;
	if (dgi_sessions_decode(sessions, data, n, &err) != DG_OK) {
		dgi_sessions_free(sessions);
		return 0;
	}
	if (dgi_sessions_encode(sessions, &first, &n_first, &err) != DG_OK ||
	    dgi_sessions_new(&again, &err) != DG_OK ||
	    dgi_sessions_decode(again, first, n_first, &err) != DG_OK ||
	    dgi_sessions_encode(again, &second, &n_second, &err) != DG_OK)
		abort();
	if (n_first != n_second || (n_first && memcmp(first, second, n_first) != 0))
		abort();
	expect_repeats(again, first, n_first);
	free(first);
	free(second);
	dgi_sessions_free(sessions);
	dgi_sessions_free(again);
	return 0;
}
