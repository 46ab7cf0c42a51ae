/* disk.c -- what of a log of writes and syncs may be on a disk that lost its power. */
#include "disk.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512
#define ENTRIES_MAX 64 /* of a directory */
#define NAME_ROOM 64

/* A sector as a write has made it. */
struct pending {
	uint64_t number; /* of the write */
	uint64_t sector;
	bool doomed; /* a sync that was to cover it has failed */
	uint8_t bytes[SECTOR];
};

struct file {
	struct file *next;
	uint64_t inode;
	uint8_t *durable;
	uint8_t *latest; /* as a process sees it */
	size_t room;	 /* of both, a multiple of SECTOR; zeros beyond the size */
	uint64_t durable_size;
	uint64_t size;
	bool has_doomed;
	struct pending *pending; /* in order */
	size_t n_pending;
	size_t pending_room;
};

struct directory {
	struct directory *next;
	uint64_t inode;
	const struct shim_record **changes;
	size_t n_changes;
	size_t n_durable;
	size_t room;
};

struct disk {
	uint64_t root;
	struct file *files;
	struct directory *directories;
};

struct disk *disk_new(uint64_t root)
{
	struct disk *disk = calloc(1, sizeof *disk);

	DGI_ASSERT(disk);
	disk->root = root;
	return disk;
}

void disk_free(struct disk *disk)
{
	for (struct file *next, *file = disk->files; file; file = next) {
		next = file->next;
		free(file->durable);
		free(file->latest);
		free(file->pending);
		free(file);
	}
	for (struct directory *next, *dir = disk->directories; dir; dir = next) {
		next = dir->next;
		free(dir->changes);
		free(dir);
	}
	free(disk);
}

static void *grown(void *memory, size_t *room, size_t wanted, size_t size)
{
	size_t more = *room ? *room : 64;

	while (more < wanted)
		more *= 2;
	if (more == *room)
		return memory;
	memory = realloc(memory, more * size);
	DGI_ASSERT(memory);
	*room = more;
	return memory;
}

/* --- Files --- */

static struct file *find_file(const struct disk *disk, uint64_t inode)
{
	for (struct file *file = disk->files; file; file = file->next)
		if (file->inode == inode)
			return file;
	return NULL;
}

static struct file *file_of(struct disk *disk, uint64_t inode)
{
	struct file *file = find_file(disk, inode);

	if (file)
		return file;
	file = calloc(1, sizeof *file);
	DGI_ASSERT(file);
	*file = (struct file){ .next = disk->files, .inode = inode };
	disk->files = file;
	return file;
}

static void make_room(struct file *file, uint64_t size)
{
	size_t room = file->room;
	size_t same = file->room;

	if (size <= room)
		return;
	file->durable = grown(file->durable, &room, (size_t)size, 1);
	room = same;
	file->latest = grown(file->latest, &room, (size_t)size, 1);
	memset(file->durable + file->room, 0, room - file->room);
	memset(file->latest + file->room, 0, room - file->room);
	file->room = room;
}

/* A file that gets shorter gets so at once; ours never do, but for temporary ones. */
static void set_size(struct file *file, uint64_t size)
{
	make_room(file, size);
	if (size < file->size)
		memset(file->latest + size, 0, (size_t)(file->size - size));
	if (size < file->durable_size) {
		memset(file->durable + size, 0, (size_t)(file->durable_size - size));
		file->durable_size = size;
	}
	if (size < file->size)
		file->n_pending = 0;
	file->size = size;
}

static void write_file(struct file *file, const struct shim_record *record)
{
	uint64_t end = record->offset + record->n;

	make_room(file, end);
	if (file->size < end)
		file->size = end;
	memcpy(file->latest + record->offset, record + 1, (size_t)record->n);
	for (uint64_t s = record->offset / SECTOR; s * SECTOR < end; s++) {
		struct pending *p;

		file->pending = grown(file->pending, &file->pending_room, file->n_pending + 1,
				      sizeof *file->pending);
		p = &file->pending[file->n_pending++];
		*p = (struct pending){ .number = record->number, .sector = s };
		memcpy(p->bytes, file->latest + s * SECTOR, SECTOR);
	}
}

/* A sector that is durable holds all that was written to it before. */
static void forget_older(struct file *file, const struct pending *settled)
{
	for (struct pending *p = file->pending; p < settled; p++)
		if (p->sector == settled->sector)
			p->number = UINT64_MAX;
}

/* Makes the writes with numbers from @first to below @end durable, or dooms them. */
static void settle(struct file *file, uint64_t first, uint64_t end, bool failed)
{
	size_t kept = 0;

	for (size_t i = 0; i < file->n_pending; i++) {
		struct pending *p = &file->pending[i];

		if (p->number < first || p->number >= end || p->doomed)
			continue;
		p->doomed = failed;
		if (failed) {
			file->has_doomed = true;
			continue;
		}
		memcpy(file->durable + p->sector * SECTOR, p->bytes, SECTOR);
		if (first > 0 || file->has_doomed)
			forget_older(file, p);
		p->number = UINT64_MAX;
	}
	for (size_t i = 0; i < file->n_pending; i++)
		if (file->pending[i].number != UINT64_MAX)
			file->pending[kept++] = file->pending[i];
	file->n_pending = kept;
}

/* --- Directories --- */

static struct directory *find_directory(const struct disk *disk, uint64_t inode)
{
	for (struct directory *dir = disk->directories; dir; dir = dir->next)
		if (dir->inode == inode)
			return dir;
	return NULL;
}

static struct directory *directory_of(struct disk *disk, uint64_t inode)
{
	struct directory *dir = find_directory(disk, inode);

	if (dir)
		return dir;
	dir = calloc(1, sizeof *dir);
	DGI_ASSERT(dir);
	*dir = (struct directory){ .next = disk->directories, .inode = inode };
	disk->directories = dir;
	return dir;
}

static void change_directory(struct directory *dir, const struct shim_record *record)
{
	dir->changes = grown(dir->changes, &dir->room, dir->n_changes + 1, sizeof *dir->changes);
	dir->changes[dir->n_changes++] = record;
}

static void sync_directory(struct directory *dir, uint64_t end)
{
	while (dir->n_durable < dir->n_changes && dir->changes[dir->n_durable]->number < end)
		dir->n_durable++;
}

/* --- Records --- */

void disk_begin(struct disk *disk, const struct shim_record *record)
{
	switch (record->kind) {
	case SHIM_LOG_WRITE:
		write_file(file_of(disk, record->inode), record);
		break;
	case SHIM_LOG_SIZE:
		set_size(file_of(disk, record->inode), record->offset);
		break;
	case SHIM_LOG_MKDIR:
		(void)directory_of(disk, record->other);
		change_directory(directory_of(disk, record->inode), record);
		break;
	case SHIM_LOG_CREATE:
	case SHIM_LOG_REMOVE:
	case SHIM_LOG_RENAME:
	case SHIM_LOG_EXCHANGE:
		change_directory(directory_of(disk, record->inode), record);
		break;
	default:
		break;
	}
}

void disk_end(struct disk *disk, const struct shim_record *record)
{
	struct file *file = find_file(disk, record->inode);
	struct directory *dir = find_directory(disk, record->inode);

	if (record->kind == SHIM_LOG_WRITE && record->flag && file) {
		settle(file, record->number, record->number + 1, false);
		if (file->durable_size < record->offset + record->n)
			file->durable_size = record->offset + record->n;
	}
	if (record->kind != SHIM_LOG_SYNC)
		return;
	if (file)
		settle(file, 0, record->offset, record->flag);
	if (file && !record->flag)
		file->durable_size = file->size;
	if (dir && !record->flag)
		sync_directory(dir, record->offset);
}

/* --- Images --- */

/* How what is pending fares, as a whole. */
enum fate {
	NOTHING, /* is left of it */
	ALL,	 /* of it is on disk */
	WRITES,	 /* each write is there or not */
	SECTORS, /* each write is there, or not, or up to somewhere, or some of its sectors are */
	FIRST,	 /* up to somewhere in one write, in order */
	LAST,	 /* only what came after some write */
	ALL_BUT_ONE, /* one write is missing */
	FATES,
};

struct image {
	const struct disk *disk;
	struct dgi_rng rng; /* what befalls a write depends on its number */
	enum fate fate;
	uint64_t pivot; /* a write's number */
	bool long_sizes;
};

/* A random number that belongs to @what of write @number. */
static uint64_t draw(const struct image *image, uint64_t number, uint64_t what)
{
	return dgi_rng_at(&image->rng, number * 1000003 + what);
}

static bool torn_sector_survives(const struct image *image, const struct pending *p, uint64_t first)
{
	uint64_t cut = draw(image, p->number, 1) % 129;

	switch (draw(image, p->number, 2) % 4) {
	case 0:
		return false;
	case 1:
		return true;
	case 2: /* the first sectors, as many as */
		return p->sector - first < cut;
	default:
		return draw(image, p->number, 3 + p->sector) & 1;
	}
}

/* @first is the first sector of the same write. */
static bool survives(const struct image *image, const struct pending *p, uint64_t first)
{
	switch (image->fate) {
	case NOTHING:
		return false;
	case ALL:
		return true;
	case WRITES:
		return draw(image, p->number, 0) & 1;
	case FIRST:
		if (p->number == image->pivot)
			return p->sector - first < draw(image, p->number, 1) % 129;
		return p->number < image->pivot;
	case LAST:
		return p->number > image->pivot;
	case ALL_BUT_ONE:
		return p->number != image->pivot;
	default:
		return torn_sector_survives(image, p, first);
	}
}

static bool write_out(const char *path, const uint8_t *data, uint64_t n, uint64_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool done = fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
		    (n == 0 || pwrite(fd, data, (size_t)n, 0) == (ssize_t)n);

	if (!done)
		perror(path);
	(void)close(fd);
	return done;
}

static bool file_image(const struct image *image, const struct file *file, const char *path)
{
	uint64_t first = 0;
	uint64_t size;
	uint8_t *data;
	bool done;

	if (!file)
		return write_out(path, NULL, 0, 0);
	size = image->long_sizes ? file->size : file->durable_size;
	if (file->room == 0)
		return write_out(path, NULL, 0, size);
	data = malloc(file->room);
	DGI_ASSERT(data);
	memcpy(data, file->durable, file->room);
	for (size_t i = 0; i < file->n_pending; i++) {
		const struct pending *p = &file->pending[i];

		if (i == 0 || p->number != file->pending[i - 1].number)
			first = p->sector;
		if (!survives(image, p, first))
			continue;
		memcpy(data + p->sector * SECTOR, p->bytes, SECTOR);
		if (size < (p->sector + 1) * SECTOR)
			size = (p->sector + 1) * SECTOR;
	}
	if (size > file->size)
		size = file->size;
	done = write_out(path, data, size, size);
	free(data);
	return done;
}

struct entry {
	char name[NAME_ROOM];
	uint64_t inode;
};

struct entries {
	struct entry at[ENTRIES_MAX];
	size_t n;
};

static struct entry *find_entry(struct entries *entries, const char *name)
{
	for (size_t i = 0; i < entries->n; i++)
		if (strcmp(entries->at[i].name, name) == 0)
			return &entries->at[i];
	return NULL;
}

static void put_entry(struct entries *entries, const char *name, uint64_t inode)
{
	struct entry *entry = find_entry(entries, name);

	if (!entry) {
		DGI_ASSERT(entries->n < ENTRIES_MAX && strlen(name) < NAME_ROOM);
		entry = &entries->at[entries->n++];
		(void)snprintf(entry->name, sizeof entry->name, "%s", name);
	}
	entry->inode = inode;
}

static void remove_entry(struct entries *entries, const char *name)
{
	struct entry *entry = find_entry(entries, name);

	if (entry)
		*entry = entries->at[--entries->n];
}

static void change_entries(struct entries *entries, const struct shim_record *record)
{
	const char *name = (const char *)(record + 1);
	const char *to = name + strlen(name) + 1;
	struct entry *entry = find_entry(entries, name);
	uint64_t inode = entry ? entry->inode : 0;

	if (record->kind == SHIM_LOG_CREATE || record->kind == SHIM_LOG_MKDIR) {
		put_entry(entries, name, record->other);
	} else if (record->kind == SHIM_LOG_REMOVE) {
		remove_entry(entries, name);
	} else if (record->kind == SHIM_LOG_RENAME) {
		remove_entry(entries, name);
		put_entry(entries, to, inode);
	} else if (entry) {
		struct entry *other = find_entry(entries, to);

		DGI_ASSERT(other);
		entry->inode = other->inode;
		other->inode = inode;
	}
}

static bool directory_image(const struct image *image, uint64_t inode, const char *path)
{
	const struct directory *dir = find_directory(image->disk, inode);
	struct entries entries = { .n = 0 };
	size_t n;
	bool done = true;

	if (!dir)
		return true;
	n = dir->n_changes - dir->n_durable;
	if (image->fate == NOTHING)
		n = 0;
	else if (image->fate != ALL)
		n = draw(image, inode, 7) % (n + 1);
	n += dir->n_durable;
	for (size_t i = 0; i < n; i++)
		change_entries(&entries, dir->changes[i]);
	for (size_t i = 0; done && i < entries.n; i++) {
		const struct entry *entry = &entries.at[i];
		char inner[512];

		(void)snprintf(inner, sizeof inner, "%s/%s", path, entry->name);
		if (find_directory(image->disk, entry->inode))
			done = mkdir(inner, 0700) == 0 &&
			       directory_image(image, entry->inode, inner);
		else
			done = file_image(image, find_file(image->disk, entry->inode), inner);
	}
	return done;
}

/* The number of some write that is pending. */
static uint64_t choose_pivot(const struct disk *disk, struct dgi_rng *rng)
{
	size_t n = 0;
	size_t chosen;

	for (const struct file *file = disk->files; file; file = file->next)
		n += file->n_pending;
	if (n == 0)
		return 0;
	chosen = (size_t)dgi_rng_below(rng, n);
	for (const struct file *file = disk->files; file; file = file->next) {
		if (chosen < file->n_pending)
			return file->pending[chosen].number;
		chosen -= file->n_pending;
	}
	return 0;
}

bool disk_image(const struct disk *disk, struct dgi_rng rng, const char *path)
{
	struct image image = { .disk = disk };

	image.fate = (enum fate)dgi_rng_below(&rng, FATES);
	image.long_sizes = dgi_rng_below(&rng, 2) == 1;
	image.pivot = choose_pivot(disk, &rng);
	image.rng = dgi_rng_of(dgi_rng_next(&rng), 0);
	return directory_image(&image, disk->root, path);
}
