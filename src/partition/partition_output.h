/* partition_output.h -- the directory dg_partition() writes: its names, and what may be replaced. */
#ifndef DGI_PARTITION_OUTPUT_H
#define DGI_PARTITION_OUTPUT_H

#include <distgraph/partition.h>

/*
 * The graph's name, as given or from the output's last component, into @name; the cluster file's
 * path into @path. Fails with INVALID.
 */
dg_status dgi_output_names(const dg_partition_options *options, char name[DG_NAME_BYTES_MAX + 1],
			   char path[DG_PATH_BYTES_MAX], dg_error *err);

/*
 * May the directory @output be replaced? Only if there is none or it is a partitioned graph (a
 * cluster file, parts, nothing else) that nobody serves: whatever else is there was put there by
 * somebody. Fails with EXISTS, BUSY, IO, NOMEM.
 */
dg_status dgi_output_check_replace(const char *output, dg_error *err);

#endif
