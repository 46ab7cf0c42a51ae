/*
 * main.c -- the workload by hand: make a store with its oracle, push to it, compare it.
 *
 *   crash_workload --seed N make             prints the directory
 *   crash_workload --dir DIR [--runs N] run  N groups of pushes, or until it is killed
 *   crash_workload --dir DIR verify
 */
#include "case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct workload w;

static int fail(const dg_error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

static int make(const struct crash_options *options)
{
	struct crash_case c;
	dg_error err;

	crash_case_new(&c, options, options->seed, 1);
	workload_init(&w, &c.plan, c.oracle, c.store);
	if (workload_make(&w, &err))
		return fail(&err);
	workload_clear(&w);
	printf("%s\n", c.dir);
	return 0;
}

static int verify(const struct crash_case *c)
{
	if (!workload_verify(&w, true))
		return 1;
	printf("sound: %" PRIu64 " pushes\n", c->oracle->next);
	return 0;
}

static int run(struct crash_case *c, uint64_t groups)
{
	dg_error err;

	if (workload_open(&w, true, &err))
		return fail(&err);
	for (uint64_t i = 0; groups == 0 || i < groups; i++) {
		if (!oracle_has_room(c->oracle))
			break;
		if (workload_group(&w, &err))
			return fail(&err);
	}
	workload_close(&w);
	return 0;
}

int main(int argc, char **argv)
{
	struct crash_options options = crash_options_read(argc, argv);
	const char *what = options.n_suites ? options.suites[0] : "";
	struct crash_case c;
	int result;

	if (strcmp(what, "make") == 0)
		return make(&options);
	if (strcmp(what, "run") != 0 && strcmp(what, "verify") != 0) {
		fprintf(stderr, "what: make, run or verify?\n");
		return 2;
	}
	crash_case_open(&c, options.dir);
	workload_init(&w, &c.plan, c.oracle, c.store);
	result = strcmp(what, "run") == 0 ? run(&c, options.runs) : verify(&c);
	workload_clear(&w);
	return result;
}
