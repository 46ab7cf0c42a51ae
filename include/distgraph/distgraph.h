/* distgraph/distgraph.h -- the whole public interface. */
#ifndef DISTGRAPH_DISTGRAPH_H
#define DISTGRAPH_DISTGRAPH_H

#include <distgraph/array.h>
#include <distgraph/book.h>
#include <distgraph/client.h>
#include <distgraph/cluster.h>
#include <distgraph/error.h>
#include <distgraph/export.h>
#include <distgraph/group.h>
#include <distgraph/input.h>
#include <distgraph/log.h>
#include <distgraph/outside.h>
#include <distgraph/partition.h>
#include <distgraph/partition_load.h>
#include <distgraph/plan.h>
#include <distgraph/server.h>
#include <distgraph/split.h>
#include <distgraph/store.h>
#include <distgraph/types.h>
#include <distgraph/version.h>

#endif
