/* superblock.c -- what a file belongs to, and which programs may read or write it. */
#include "superblock.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>
#include <string.h>

void dgi_superblock_encode(const struct dgi_superblock *superblock,
			   uint8_t out[DGI_SUPERBLOCK_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_SUPERBLOCK_BYTES);

	dgi_write_bytes(&w, superblock->store_uuid.bytes, sizeof superblock->store_uuid.bytes);
	dgi_write_bytes(&w, superblock->cluster_uuid.bytes, sizeof superblock->cluster_uuid.bytes);
	dgi_write_u32(&w, superblock->part);
	dgi_write_u32(&w, superblock->n_parts);
	dgi_write_u16(&w, superblock->format_read);
	dgi_write_u16(&w, superblock->format_write);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, superblock->compatible);
	dgi_write_u64(&w, superblock->read_only);
	dgi_write_u64(&w, superblock->incompatible);
	DGI_ASSERT(!w.short_write && w.left == 0);
}

dg_status dgi_superblock_decode(const void *data, size_t n, struct dgi_superblock *out,
				dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	struct dgi_superblock s = { 0 };

	dgi_read_bytes(&r, s.store_uuid.bytes, sizeof s.store_uuid.bytes);
	dgi_read_bytes(&r, s.cluster_uuid.bytes, sizeof s.cluster_uuid.bytes);
	s.part = dgi_read_u32(&r);
	s.n_parts = dgi_read_u32(&r);
	s.format_read = dgi_read_u16(&r);
	s.format_write = dgi_read_u16(&r);
	(void)dgi_read_u32(&r); /* unused: written 0, ignored */
	s.compatible = dgi_read_u64(&r);
	s.read_only = dgi_read_u64(&r);
	s.incompatible = dgi_read_u64(&r);
	if (r.short_read)
		return dgi_fail(err, DG_CORRUPT, "superblock: %zu bytes, want at least %d", n,
				DGI_SUPERBLOCK_BYTES);
	if (dgi_uuid_is_zero(&s.store_uuid))
		return dgi_fail(err, DG_CORRUPT, "superblock: the store's UUID is zero");
	if (s.n_parts < 1 || s.n_parts > DG_PARTS_MAX || s.part >= s.n_parts)
		return dgi_fail(err, DG_CORRUPT,
				"superblock: part %" PRIu32 " of %" PRIu32
				", want a part below the number of parts, at most %d",
				s.part, s.n_parts, DG_PARTS_MAX);
	if (s.format_read == 0 || s.format_write < s.format_read)
		return dgi_fail(
			err, DG_CORRUPT,
			"superblock: format %u to read, %u to write, want 1 <= read <= write",
			s.format_read, s.format_write);
	*out = s;
	return DG_OK;
}

dg_status dgi_superblock_check(const struct dgi_superblock *superblock, bool writable,
			       dg_error *err)
{
	uint64_t unknown_to_read = superblock->incompatible & ~DGI_FEATURES_INCOMPATIBLE;
	uint64_t unknown_to_write = superblock->read_only & ~DGI_FEATURES_READ_ONLY;

	if (superblock->format_read > DGI_FORMAT_VERSION)
		return dgi_fail(err, DG_VERSION,
				"store of format %u, this program reads up to %d: use a newer one",
				superblock->format_read, DGI_FORMAT_VERSION);
	if (unknown_to_read)
		return dgi_fail(err, DG_VERSION,
				"store has features %" PRIx64
				" that this program does not know: use a newer one",
				unknown_to_read);
	if (!writable)
		return DG_OK;
	if (superblock->format_write > DGI_FORMAT_VERSION)
		return dgi_fail(err, DG_VERSION,
				"store of format %u, this program writes up to %d: open it read "
				"only, or use a newer one",
				superblock->format_write, DGI_FORMAT_VERSION);
	if (unknown_to_write)
		return dgi_fail(err, DG_VERSION,
				"store has features %" PRIx64
				" that this program must not write: open it read only, or use a "
				"newer one",
				unknown_to_write);
	return DG_OK;
}

dg_status dgi_superblock_match(const struct dgi_superblock *a, const struct dgi_superblock *b,
			       const char *file, dg_error *err)
{
	char text_a[DG_UUID_TEXT_BYTES], text_b[DG_UUID_TEXT_BYTES];

	if (!dgi_uuid_equal(&a->store_uuid, &b->store_uuid)) {
		dgi_uuid_text(&a->store_uuid, text_a);
		dgi_uuid_text(&b->store_uuid, text_b);
		return dgi_fail(err, DG_MISMATCH, "%s is of store %s, want %s", file, text_b,
				text_a);
	}
	if (!dgi_uuid_equal(&a->cluster_uuid, &b->cluster_uuid) || a->part != b->part ||
	    a->n_parts != b->n_parts)
		return dgi_fail(err, DG_MISMATCH,
				"%s is of another cluster or part than the store's other file",
				file);
	return DG_OK;
}
