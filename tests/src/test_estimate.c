/* What src/cut/estimate.h promises: the methods take no more than it says. */
#include "made_source.h"
#include "test.h"
#include "tmpdir.h"

#include "assign.h"
#include "estimate.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers take memory of their own, by no rule. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* What a process has had of anonymous memory is not counted; its peak of all, less files', is. */
static uint64_t peak_bytes(int who)
{
	struct rusage usage;

	assert_int_equal(getrusage(who, &usage), 0);
	return (uint64_t)usage.ru_maxrss << 10;
}

static void make_graph(struct dgi_source *source, const char *dir, int64_t n_nodes, int64_t n_edges)
{
	struct dgi_rng rng = dgi_rng_of(7, 0);
	dg_id *pairs = malloc((size_t)n_edges * 2 * sizeof *pairs);

	assert_non_null(pairs);
	for (int64_t e = 0; e < n_edges; e++) {
		pairs[2 * e] = (dg_id)dgi_rng_below(&rng, (uint64_t)n_nodes);
		/* Most edges are short. */
		pairs[2 * e + 1] =
			dgi_rng_below(&rng, 4) == 0
				? (dg_id)dgi_rng_below(&rng, (uint64_t)n_nodes)
				: (pairs[2 * e] + (dg_id)dgi_rng_below(&rng, 50)) % n_nodes;
	}
	made_source_add_nodes(source, "_N", n_nodes);
	made_source_add_edges(source, dir, 0, "_E", 0, pairs, n_edges);
	free(pairs);
}

/* In a process of its own: its peak is that of the method, above what it began with. */
static _Noreturn void take(const struct dgi_source *source, const char *dir, const char *method,
			   uint64_t memory, uint64_t allowed)
{
	const uint64_t before = peak_bytes(RUSAGE_SELF);
	const struct dgi_assign_request request = {
		.source = source, .work = dir, .method = method, .n_parts = 8, .memory = memory
	};
	uint16_t **owners = made_owners_new(source);
	struct dgi_assign_report report;
	uint64_t taken;

	if (dgi_assign(&request, owners, &report, NULL))
		_exit(2);
	/* A child of its own shares what it was forked with: counted twice, which is still a bound. */
	taken = peak_bytes(RUSAGE_SELF) - before + peak_bytes(RUSAGE_CHILDREN);
	fprintf(stderr, "%s: took %llu KiB of %llu\n", method, (unsigned long long)taken >> 10,
		(unsigned long long)allowed >> 10);
	_exit(taken <= allowed ? 0 : 1);
}

static void check_bound(const char *method, struct dgi_estimate (*estimate)(int64_t, int64_t),
			int64_t n_nodes, int64_t n_edges, uint64_t memory)
{
	const struct dgi_estimate e = estimate ? estimate(n_nodes, n_edges)
					       : dgi_estimate_stream(n_nodes, n_edges, memory);
	struct dgi_source source = { 0 };
	char *dir = tmpdir_new(), *other;
	int status;
	pid_t maker, pid;

	/* Made by another process, so that this one's peak stays low. */
	maker = fork();
	if (maker == 0) {
		make_graph(&source, dir, n_nodes, n_edges);
		_exit(0);
	}
	assert_int_equal(waitpid(maker, &status, 0), maker);
	assert_int_equal(status, 0);
	made_source_add_nodes(&source, "_N", n_nodes);
	other = tmpdir_new();
	made_source_add_edges(&source, other, 0, "_E", 0, NULL, 0);
	free(source.edges[0].path);
	source.edges[0].path = tmpdir_path(dir, "edges0");
	source.edges[0].n = n_edges;
	pid = fork();
	if (pid == 0)
		take(&source, dir, method, memory, e.memory_bytes);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	dgi_source_clear(&source);
	tmpdir_remove(dir);
	tmpdir_remove(other);
}

static void no_method_takes_more_memory_than_was_said(void **state)
{
	(void)state;
	if (SANITIZED)
		skip();
	check_bound("random", dgi_estimate_random, 2000000, 200000, 0);
	check_bound("metis", dgi_estimate_metis, 20000, 300000, 0);
	check_bound("metis", dgi_estimate_metis, 100000, 100000, 0);

	check_bound("stream", NULL, 20000, 200000, 0);
	check_bound("stream", NULL, 200000, 100000, 0);
	check_bound("stream", NULL, 20000, 300000, 8 << 20);
	check_bound("stream", NULL, 5000, 300000, 2 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_method_takes_more_memory_than_was_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
