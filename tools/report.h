/*
 * report.h -- how the program speaks: complaints and remarks on stderr, exit codes, JSON on stdout;
 * and the two words it needs for that, a time and a UUID.
 */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include <distgraph/log.h>
#include <distgraph/types.h>

#include <jansson.h>

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* failed, not found or refused */
	EXIT_USAGE = 2,
	EXIT_DAMAGE = 3, /* `check` found damage, and only that */
};

/* Prints "distgraph: <text>" on stderr and returns EXIT_FAILED. */
int report(const char *format, ...) DG_PRINTF(1, 2);
int report_error(const dg_error *err);

/* Prints "distgraph: <text>" on stderr: a remark, not a failure. */
void remark(const char *format, ...) DG_PRINTF(1, 2);

/* Fills in @err and returns @status, as the library's own functions do. */
dg_status fail(dg_error *err, dg_status status, const char *format, ...) DG_PRINTF(3, 4);

/* Prints @value on stdout, takes it, and returns an exit code. NULL is "out of memory". */
int report_json(json_t *value);

/* A dg_log_fn that prints on stderr. */
void report_log(void *context, dg_log_level level, const char *text);

/* On the monotonic clock. */
int64_t now_ms(void);

void uuid_text(const dg_uuid *uuid, char out[DG_UUID_TEXT_BYTES]);

#endif
