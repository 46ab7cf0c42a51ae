/*
 * disk.h -- a disk that loses its power: what of a log of writes and syncs may be on it.
 *
 * A file is durable sectors of 512 bytes and, for each write since, the sectors it has made. Until
 * a sync of the file, or the return of a write by a descriptor with O_DSYNC, each of these may have
 * reached the disk or not, whatever else has. A sector is whole or not at all: LMDB relies on that
 * for the 120 bytes of its meta page. What a failed sync was to cover stays uncertain for ever,
 * whatever later syncs say, as in Linux. A directory has a list of changes, of which those
 * before its last sync are durable, and some first ones of the rest may be. A file's size may be the
 * durable one or the last one; what lies between and was not written is zeros.
 */
#ifndef CRASH_DISK_H
#define CRASH_DISK_H

#include "shim.h"

#include "rng.h"

struct disk;

/* A disk with an empty directory whose inode number is @root. */
struct disk *disk_new(uint64_t root);
void disk_free(struct disk *disk);

/* Takes in a record's writing, as if it were not durable yet. */
void disk_begin(struct disk *disk, const struct shim_record *record);
/* Takes in that it has returned. */
void disk_end(struct disk *disk, const struct shim_record *record);

/*
 * Writes what may be left of the root directory to @path, an empty directory; what that is, is a
 * function of @rng.
 */
bool disk_image(const struct disk *disk, struct dgi_rng rng, const char *path);

#endif
