/* distgraph/export.h -- marks what the shared library exports. */
#ifndef DISTGRAPH_EXPORT_H
#define DISTGRAPH_EXPORT_H

#ifndef DG_API
#define DG_API __attribute__((visibility("default")))
#endif

/* Lets the compiler compare a format string with its arguments. */
#define DG_PRINTF(format_index, first_index) \
	__attribute__((format(printf, format_index, first_index)))

#endif
