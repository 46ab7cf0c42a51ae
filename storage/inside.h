/* inside.h -- a volume as its own files see it: opening (volume.c) and writing (write.c). */
#ifndef DGI_INSIDE_H
#define DGI_INSIDE_H

#include "contents.h"
#include "env.h"
#include "lock.h"

struct dgi_volume {
	char *path;
	bool writable;
	struct dgi_lock *lock;
	struct dgi_graph_contents graph;
	struct dgi_tensors_contents tensors; /* log and incarnation as they were at opening */
	struct dgi_map graph_map;
	struct dgi_map tensors_map;
	struct dgi_table table;
	struct dgi_env *env; /* of tensors.mdb; NULL when read only */
	bool broken;	     /* takes no more writes; for the writing thread */
	uint64_t incarnation;
	_Atomic uint64_t log_number; /* of the newest write */
	uint32_t *marks;	     /* by table entry, 0 between writes; see write.c */
};

/* Puts the identity record with the volume's incarnation, in a transaction of its own. */
dg_status dgi_volume_put_identity(struct dgi_volume *volume, dg_error *err);

#endif
