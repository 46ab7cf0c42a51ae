/* gather_edges.h -- what gather.c and gather_edges.c share. */
#ifndef DGI_GATHER_EDGES_H
#define DGI_GATHER_EDGES_H

#include "gather.h"

/* Of one type, and of all together. */
#define DGI_HELD_EDGES_MAX 16384
#define DGI_HELD_BYTES_MAX ((size_t)32 << 20)

#endif
