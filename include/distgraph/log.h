/*
 * distgraph/log.h -- the library's one way to say something that is not an error of a call.
 *
 * Silent until a callback is set. The callback may be called from any thread of the library, one
 * at a time; it must not call the library.
 */
#ifndef DISTGRAPH_LOG_H
#define DISTGRAPH_LOG_H

#include <distgraph/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dg_log_level {
	DG_LOG_ERROR = 0,
	DG_LOG_WARNING = 1,
	DG_LOG_INFO = 2,
	DG_LOG_DEBUG = 3,
} dg_log_level;

/* @text is one line without a newline, with control bytes escaped; lent for the call. */
typedef void dg_log_fn(void *context, dg_log_level level, const char *text);

/* Sends every message of @level or more severe to @fn; NULL makes the library silent again. */
DG_API void dg_log_set(dg_log_fn *fn, void *context, dg_log_level level);

#ifdef __cplusplus
}
#endif

#endif
