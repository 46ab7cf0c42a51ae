/* log.h -- say something through the callback set by dg_log_set(). */
#ifndef DGI_LOG_H
#define DGI_LOG_H

#include <distgraph/log.h>

void dgi_log(dg_log_level level, const char *format, ...) DG_PRINTF(2, 3);

#endif
