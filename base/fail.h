/* fail.h -- fill in a dg_error, and put context in front of it on the way up. */
#ifndef DGI_FAIL_H
#define DGI_FAIL_H

#include <distgraph/error.h>

/* Records the failure and returns @status, so that a refusal is one line. @err may be NULL. */
dg_status dgi_fail(dg_error *err, dg_status status, const char *format, ...) DG_PRINTF(3, 4);

/* Puts "<what we were doing>: " in front of the text of @err and returns @status. */
dg_status dgi_context(dg_error *err, dg_status status, const char *format, ...) DG_PRINTF(3, 4);

/* The status that stands for an errno value. */
dg_status dgi_status_of_errno(int error_number);

/* Records a failed system call: "<what>: <text of errno>". */
dg_status dgi_fail_errno(dg_error *err, int error_number, const char *format, ...) DG_PRINTF(3, 4);

/* Records "out of memory" with what it was for. */
dg_status dgi_fail_memory(dg_error *err, const char *what);

#endif
