/* group_options.h -- what a process claims when it joins: from its options and environment. */
#ifndef DGI_GROUP_OPTIONS_H
#define DGI_GROUP_OPTIONS_H

#include "group.h"

#include <distgraph/group.h>

/* Sets all of @claim but its place. Fails with INVALID, IO. */
dg_status dgi_group_claim_make(const dg_group_options *options, struct dgi_group_claim *claim,
			       dg_error *err);

#endif
