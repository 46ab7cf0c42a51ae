/* make.h -- what tests change of the way a store is made; see volume.h. */
#ifndef DGI_MAKE_H
#define DGI_MAKE_H

#include "volume.h"

/* Payload bytes of a segment from now on, a multiple of 8 and at most DGI_SEGMENT_BYTES. */
void dgi_volume_maker_set_segment_bytes(struct dgi_volume_maker *maker, uint64_t bytes);

#endif
