/* partition_arguments.h -- all that the result of dg_partition() depends on, as a text. */
#ifndef DGI_PARTITION_ARGUMENTS_H
#define DGI_PARTITION_ARGUMENTS_H

#include <distgraph/partition.h>

/*
 * Gives a text, to be freed, that is the same for calls that make the same: options, and for each
 * input file its path, size and time. Memory and @force are left out. Fails with NOMEM.
 */
dg_status dgi_partition_arguments(const dg_partition_options *options, char **out, dg_error *err);

#endif
