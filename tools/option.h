/*
 * option.h -- a command's options as a table, from which they are parsed and its usage is printed.
 */
#ifndef TOOL_OPTION_H
#define TOOL_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of an option that may be given more than once. The strings are lent by argv. */
struct option_texts {
	const char **items;
	size_t n;
};

/* One option; exactly one of the four targets is set, and says what kind of option it is. */
struct option {
	const char *name;  /* "output", without its dashes */
	char letter;	   /* 'o'; 0: none */
	const char *value; /* what its value is called; NULL for a flag */
	const char *help;

	bool *flag;
	const char **text;
	struct option_texts *texts;
	uint64_t *number;
	uint64_t max; /* of a number; 0: any */
};

struct option_set {
	const char *command;
	const char *arguments; /* "CLUSTER.json TENSOR IDS" */
	const char *about;     /* a few lines, each ending in a newline */
	const char *examples;  /* a few lines, each ending in a newline */
	const struct option *options;
	size_t n_options;
	size_t n_arguments_min;
	size_t n_arguments_max;
};

/* What option_parse() returns when the command shall go on. */
#define OPTION_GO (-1)

/*
 * Stores the options through their targets and moves the arguments that are none to the front of
 * @argv, whose first element (the command's name) is dropped. Sets *@n to their number. "--" ends
 * the options; "-" and negative numbers are arguments.
 *
 * Returns OPTION_GO, or the exit code to end with: 0 after --help, 2 after a complaint on stderr.
 */
int option_parse(const struct option_set *set, int argc, char **argv, size_t *n);

/* Complains on stderr, points at --help and returns 2. */
int option_usage_error(const struct option_set *set, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "64K", "8G": a number of bytes that an option was given, K, M, G or T for powers of 1024. As above. */
int option_bytes(const struct option_set *set, const char *name, const char *text, uint64_t *bytes);

void option_texts_clear(struct option_texts *texts);

#endif
