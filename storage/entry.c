/* entry.c -- one entry of the journal: a push as it was applied, in bytes. */
#include "entry.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "ops.h"
#include "uuid.h"

#include <inttypes.h>
#include <string.h>

#define MAGIC UINT32_C(0x314a4744) /* "DGJ1" */

/* On disk a part of a large operation has a kind of its own, and says which part in place of a step's
 * parameters. */
enum { PART_OF_ROWS = 4, PART_OF_FILL = 5, PART = PART_OF_ROWS - DGI_ENTRY_ROWS };

static bool is_part(const struct dgi_entry *entry)
{
	return entry->part.total != 0;
}

static uint32_t parameters_bytes(const struct dgi_entry *entry)
{
	return is_part(entry) ? DGI_PART_BYTES : entry->parameters_bytes;
}

static size_t round_up_to_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Body bytes by kind: the row numbers (or the run), the operands, a step's parameters. */
static bool body_bytes(const struct dgi_entry *entry, size_t *out)
{
	size_t numbers, operands;

	if (entry->kind == DGI_ENTRY_FILL)
		numbers = 16;
	else if (!dgi_multiply_size(entry->n, 8, &numbers))
		return false;
	return dgi_multiply_size(entry->n, entry->row_bytes, &operands) &&
	       dgi_add_size(numbers, operands, out) &&
	       dgi_add_size(*out, parameters_bytes(entry), out) && *out <= DGI_ENTRY_BYTES_MAX;
}

size_t dgi_entry_bytes(const struct dgi_entry *entry)
{
	size_t body;

	if (!body_bytes(entry, &body))
		return 0;
	return round_up_to_8(DGI_ENTRY_HEADER_BYTES + body);
}

static void write_part(struct dgi_writer *w, const struct dgi_part *part)
{
	dgi_write_bytes(w, part->id.bytes, sizeof part->id.bytes);
	dgi_write_u64(w, part->number);
	dgi_write_i64(w, part->first);
	dgi_write_u64(w, part->total);
	dgi_write_u64(w, part->done);
}

static dg_status read_part(struct dgi_reader *r, struct dgi_entry *entry, dg_error *err)
{
	struct dgi_part *part = &entry->part;
	uint64_t n = entry->kind == DGI_ENTRY_FILL ? (uint64_t)entry->count : entry->n;

	dgi_read_bytes(r, part->id.bytes, sizeof part->id.bytes);
	part->number = dgi_read_u64(r);
	part->first = dgi_read_i64(r);
	part->total = dgi_read_u64(r);
	part->done = dgi_read_u64(r);
	entry->parameters_bytes = 0;
	if (dgi_uuid_is_zero(&part->id) || part->first < 0 || part->done < n ||
	    part->done > part->total || part->total > (uint64_t)(INT64_MAX - part->first) ||
	    (entry->kind == DGI_ENTRY_FILL &&
	     entry->first != part->first + (int64_t)(part->done - n)))
		return dgi_fail(err, DG_CORRUPT,
				"journal entry: %" PRIu64 " rows, done %" PRIu64 " of %" PRIu64
				" from %" PRId64,
				n, part->done, part->total, part->first);
	return DG_OK;
}

void dgi_entry_encode(const struct dgi_entry *entry, void *out)
{
	size_t n = dgi_entry_bytes(entry);
	struct dgi_writer w = dgi_writer_of(out, n);

	DGI_ASSERT(n > 0);
	dgi_write_u32(&w, MAGIC);
	dgi_write_u16(&w, (uint16_t)(entry->kind + (is_part(entry) ? PART : 0)));
	dgi_write_u16(&w, entry->op);
	dgi_write_u64(&w, n);
	dgi_write_u64(&w, entry->log_number);
	dgi_write_u32(&w, entry->tensor);
	dgi_write_u32(&w, entry->row_bytes);
	dgi_write_u64(&w, entry->n);
	dgi_write_bytes(&w, entry->session.id.bytes, sizeof entry->session.id.bytes);
	dgi_write_u64(&w, entry->session.number);
	dgi_write_u64(&w, entry->session.window);
	dgi_write_u32(&w, parameters_bytes(entry));
	dgi_write_u32(&w, 0);
	if (entry->kind == DGI_ENTRY_FILL) {
		dgi_write_i64(&w, entry->first);
		dgi_write_i64(&w, entry->count);
	} else {
		dgi_write_bytes(&w, entry->rows, entry->n * 8);
	}
	dgi_write_bytes(&w, entry->operands, entry->n * entry->row_bytes);
	if (is_part(entry))
		write_part(&w, &entry->part);
	else
		dgi_write_bytes(&w, entry->parameters, entry->parameters_bytes);
	dgi_write_zeros(&w, w.left);
	DGI_ASSERT(!w.short_write);
}

/* Reads the header's fields; the caller checks @r for shortness. */
static uint64_t read_header(struct dgi_reader *r, uint32_t *magic, struct dgi_entry *entry)
{
	uint64_t length;

	*magic = dgi_read_u32(r);
	entry->kind = (enum dgi_entry_kind)dgi_read_u16(r);
	entry->op = dgi_read_u16(r);
	length = dgi_read_u64(r);
	entry->log_number = dgi_read_u64(r);
	entry->tensor = dgi_read_u32(r);
	entry->row_bytes = dgi_read_u32(r);
	entry->n = dgi_read_u64(r);
	dgi_read_bytes(r, entry->session.id.bytes, sizeof entry->session.id.bytes);
	entry->session.number = dgi_read_u64(r);
	entry->session.window = dgi_read_u64(r);
	entry->parameters_bytes = dgi_read_u32(r);
	(void)dgi_read_u32(r);
	if ((int)entry->kind == PART_OF_ROWS || (int)entry->kind == PART_OF_FILL) {
		entry->kind = (enum dgi_entry_kind)((int)entry->kind - PART);
		entry->part.total = 1; /* read_part() reads it */
	}
	return length;
}

static dg_status check_header(const struct dgi_entry *entry, uint32_t magic, uint64_t length,
			      dg_error *err)
{
	if (magic != MAGIC)
		return dgi_fail(err, DG_CORRUPT,
				"journal entry: magic %08" PRIx32 ", want %08" PRIx32, magic,
				MAGIC);
	if (entry->kind < DGI_ENTRY_ROWS || entry->kind > DGI_ENTRY_STEP)
		return dgi_fail(err, DG_CORRUPT, "journal entry: kind %d", (int)entry->kind);
	if (is_part(entry) ? entry->parameters_bytes != DGI_PART_BYTES
			   : entry->parameters_bytes >
				     (entry->kind == DGI_ENTRY_STEP ? DGI_STEP_PARAMETERS_MAX : 0))
		return dgi_fail(err, DG_CORRUPT, "journal entry: %" PRIu32 " bytes of parameters",
				entry->parameters_bytes);
	if (entry->kind != DGI_ENTRY_STEP && !dgi_op_known(entry->op))
		return dgi_fail(err, DG_CORRUPT, "journal entry: operation %u", entry->op);
	/* The number of the next write is above it, and must be one too. */
	if (entry->log_number == 0 || entry->log_number > INT64_MAX)
		return dgi_fail(err, DG_CORRUPT, "journal entry: log number %" PRIu64,
				entry->log_number);
	if (entry->session.number == 0 && !dgi_uuid_is_zero(&entry->session.id))
		return dgi_fail(err, DG_CORRUPT, "journal entry: push 0 of a session");
	if (entry->row_bytes == 0 || entry->row_bytes > DG_ROW_BYTES_MAX)
		return dgi_fail(err, DG_CORRUPT, "journal entry: %" PRIu32 " bytes a row",
				entry->row_bytes);
	if (entry->kind == DGI_ENTRY_FILL && entry->n != 1)
		return dgi_fail(err, DG_CORRUPT, "journal entry: fill with %" PRIu64 " operands",
				entry->n);
	if (dgi_entry_bytes(entry) == 0 || length != dgi_entry_bytes(entry))
		return dgi_fail(err, DG_CORRUPT,
				"journal entry: %" PRIu64 " bytes for %" PRIu64 " rows of %" PRIu32,
				length, entry->n, entry->row_bytes);
	return DG_OK;
}

dg_status dgi_entry_length(const void *data, size_t n, size_t *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	struct dgi_entry entry = { 0 };
	uint32_t magic;
	uint64_t length = read_header(&r, &magic, &entry);
	dg_status st;

	if (r.short_read)
		return dgi_fail(err, DG_CORRUPT, "journal entry: %zu bytes, want %d or more", n,
				DGI_ENTRY_HEADER_BYTES);
	st = check_header(&entry, magic, length, err);
	if (st)
		return st;
	*out = length;
	return DG_OK;
}

dg_status dgi_entry_decode(const void *data, size_t n, struct dgi_entry *out, size_t *used,
			   dg_error *err)
{
	struct dgi_reader r;
	struct dgi_entry entry = { 0 };
	uint32_t magic;
	size_t length;
	dg_status st = dgi_entry_length(data, n, &length, err);

	if (st)
		return st;
	if (length > n)
		return dgi_fail(err, DG_CORRUPT, "journal entry: %zu bytes, want %zu", n, length);
	r = dgi_reader_of(data, length);
	(void)read_header(&r, &magic, &entry);
	if (entry.kind == DGI_ENTRY_FILL) {
		entry.first = dgi_read_i64(&r);
		entry.count = dgi_read_i64(&r);
		if (entry.first < 0 || entry.count < 0 || entry.count > INT64_MAX - entry.first)
			return dgi_fail(err, DG_CORRUPT,
					"journal entry: fill of %" PRId64 " rows from %" PRId64,
					entry.count, entry.first);
	} else {
		entry.rows = dgi_read_run(&r, entry.n * 8);
	}
	entry.operands = dgi_read_run(&r, entry.n * entry.row_bytes);
	if (is_part(&entry))
		st = read_part(&r, &entry, err);
	else
		entry.parameters = dgi_read_run(&r, entry.parameters_bytes);
	if (st)
		return st;
	DGI_ASSERT(!r.short_read);
	*out = entry;
	*used = length;
	return DG_OK;
}
