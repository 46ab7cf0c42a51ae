/* operations.c -- how far large operations have got. */
#include "operations.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "ops.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 64

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static uint32_t operand_bytes(const struct dgi_operation *operation)
{
	return operation->kind == DGI_ENTRY_FILL ? operation->row_bytes : 0;
}

static void remove_at(struct dgi_operations *operations, size_t i)
{
	operations->bytes -= operand_bytes(&operations->list[i]);
	free(operations->list[i].operand);
	operations->n--;
	memmove(&operations->list[i], &operations->list[i + 1],
		(operations->n - i) * sizeof *operations->list);
}

void dgi_operations_clear(struct dgi_operations *operations)
{
	while (operations->n)
		remove_at(operations, operations->n - 1);
	free(operations->list);
	*operations = (struct dgi_operations){ 0 };
}

static bool find(const struct dgi_operations *operations, const dg_uuid *id, uint64_t number,
		 size_t *index)
{
	for (*index = 0; *index < operations->n; ++*index) {
		const struct dgi_part *part = &operations->list[*index].part;

		if (part->number == number && dgi_uuid_equal(&part->id, id))
			return true;
	}
	return false;
}

const struct dgi_operation *dgi_operations_find(const struct dgi_operations *operations,
						const dg_uuid *id, uint64_t number)
{
	size_t i;

	return find(operations, id, number, &i) ? &operations->list[i] : NULL;
}

static dg_status make_room(struct dgi_operations *operations, dg_error *err)
{
	size_t capacity = operations->capacity ? operations->capacity * 2 : 8;
	struct dgi_operation *list;

	if (operations->n == DGI_OPERATIONS_MAX)
		return dgi_fail(err, DG_FULL, "%d large operations are under way",
				DGI_OPERATIONS_MAX);
	if (operations->n < operations->capacity)
		return DG_OK;
	list = realloc(operations->list, capacity * sizeof *list);
	if (!list)
		return dgi_fail_memory(err, "large operation");
	operations->list = list;
	operations->capacity = capacity;
	return DG_OK;
}

/* Adds what the first part says; none of it is done yet. */
static dg_status add(struct dgi_operations *operations, const struct dgi_operation *operation,
		     const uint8_t *operand, dg_error *err)
{
	struct dgi_operation new = *operation;
	const size_t n = operand_bytes(operation);
	dg_status st = make_room(operations, err);

	if (!st && operations->bytes + n > DGI_OPERATIONS_BYTES_MAX / 2)
		st = dgi_fail(err, DG_FULL, "large operations with %" PRIu64 " MiB of operands",
			      operations->bytes >> 20);
	if (st)
		return st;
	new.operand = NULL;
	if (n) {
		new.operand = malloc(n);
		if (!new.operand)
			return dgi_fail_memory(err, "large operation");
		memcpy(new.operand, operand, n);
	}
	operations->bytes += n;
	operations->list[operations->n++] = new;
	return DG_OK;
}

/* The operation that the entry is a part of, added where it is not known. */
static dg_status know(struct dgi_operations *operations, const struct dgi_entry *entry,
		      size_t *index, dg_error *err)
{
	struct dgi_operation new = { .part = entry->part,
				     .kind = entry->kind,
				     .op = entry->op,
				     .tensor = entry->tensor,
				     .row_bytes = entry->row_bytes };

	new.part.done = 0;
	if (find(operations, &entry->part.id, entry->part.number, index))
		return DG_OK;
	*index = operations->n;
	return add(operations, &new, entry->operands, err);
}

static uint64_t rows_of(const struct dgi_entry *entry)
{
	return entry->kind == DGI_ENTRY_FILL ? (uint64_t)entry->count : entry->n;
}

dg_status dgi_operations_look(struct dgi_operations *operations, const struct dgi_entry *entry,
			      bool *repeat, dg_error *err)
{
	const struct dgi_part *part = &entry->part;
	const struct dgi_operation *known;
	uint64_t done;
	size_t i;

	known = dgi_operations_find(operations, &part->id, part->number);
	done = known ? known->part.done : 0;
	*repeat = done >= part->done;
	if (*repeat)
		return DG_OK;
	if (part->done - rows_of(entry) != done ||
	    (known && (known->tensor != entry->tensor || known->kind != entry->kind ||
		       known->op != entry->op || known->part.total != part->total ||
		       known->part.first != part->first)))
		return dgi_fail(err, DG_INVALID,
				"%" PRIu64 " of %" PRIu64
				" rows of the operation are done: this part does not follow",
				done, part->total);
	return know(operations, entry, &i, err);
}

dg_status dgi_operations_note(struct dgi_operations *operations, const struct dgi_entry *entry,
			      dg_error *err)
{
	size_t i;
	dg_status st = know(operations, entry, &i, err);

	if (st)
		return st;
	operations->list[i].part.done = entry->part.done;
	if (entry->part.done == entry->part.total)
		remove_at(operations, i);
	return DG_OK;
}

void dgi_operations_unlook(struct dgi_operations *operations, const struct dgi_entry *entry)
{
	size_t i;

	if (find(operations, &entry->part.id, entry->part.number, &i) &&
	    operations->list[i].part.done == 0)
		remove_at(operations, i);
}

void dgi_operations_drop(struct dgi_operations *operations, uint32_t tensor)
{
	for (size_t i = operations->n; i-- > 0;)
		if (operations->list[i].tensor == tensor)
			remove_at(operations, i);
}

void dgi_operations_drop_session(struct dgi_operations *operations, const dg_uuid *session)
{
	for (size_t i = operations->n; i-- > 0;)
		if (operations->list[i].kind == DGI_ENTRY_ROWS &&
		    dgi_uuid_equal(&operations->list[i].part.id, session))
			remove_at(operations, i);
}

/* --- Bytes --- */

dg_status dgi_operations_encode(const struct dgi_operations *operations, uint8_t **out, size_t *n,
				dg_error *err)
{
	struct dgi_writer w;
	size_t bytes = 0;

	*out = NULL;
	*n = 0;
	/* What was looked at, but not applied, is no operation yet. */
	for (size_t i = 0; i < operations->n; i++)
		if (operations->list[i].part.done)
			bytes += HEADER_BYTES + padded(operand_bytes(&operations->list[i]));
	if (bytes == 0)
		return DG_OK;
	*out = malloc(bytes);
	if (!*out)
		return dgi_fail_memory(err, "table of operations");
	*n = bytes;
	w = dgi_writer_of(*out, bytes);
	for (size_t i = 0; i < operations->n; i++) {
		const struct dgi_operation *operation = &operations->list[i];
		const uint32_t operand = operand_bytes(operation);

		if (operation->part.done == 0)
			continue;
		dgi_write_bytes(&w, operation->part.id.bytes, sizeof operation->part.id.bytes);
		dgi_write_u64(&w, operation->part.number);
		dgi_write_i64(&w, operation->part.first);
		dgi_write_u64(&w, operation->part.total);
		dgi_write_u64(&w, operation->part.done);
		dgi_write_u32(&w, operation->tensor);
		dgi_write_u32(&w, operation->row_bytes);
		dgi_write_u16(&w, (uint16_t)operation->kind);
		dgi_write_u16(&w, operation->op);
		dgi_write_u32(&w, 0);
		dgi_write_bytes(&w, operation->operand, operand);
		dgi_write_zeros(&w, padded(operand) - operand);
	}
	DGI_ASSERT(!w.short_write && w.left == 0);
	return DG_OK;
}

static dg_status check(const struct dgi_operation *operation, uint32_t reserved, dg_error *err)
{
	const struct dgi_part *part = &operation->part;

	if (dgi_uuid_is_zero(&part->id) || part->first < 0 || part->done < 1 ||
	    part->done >= part->total || part->total > (uint64_t)(INT64_MAX - part->first) ||
	    operation->row_bytes < 1 || operation->row_bytes > DG_ROW_BYTES_MAX ||
	    (operation->kind != DGI_ENTRY_ROWS && operation->kind != DGI_ENTRY_FILL) ||
	    !dgi_op_known(operation->op) || reserved != 0)
		return dgi_fail(err, DG_CORRUPT,
				"operation on tensor %" PRIu32 ": a field out of its limits",
				operation->tensor);
	return DG_OK;
}

static dg_status decode_one(struct dgi_operations *operations, struct dgi_reader *r, dg_error *err)
{
	struct dgi_operation operation = { 0 };
	const uint8_t *operand;
	uint32_t reserved, n;
	size_t index;
	dg_status st;

	dgi_read_bytes(r, operation.part.id.bytes, sizeof operation.part.id.bytes);
	operation.part.number = dgi_read_u64(r);
	operation.part.first = dgi_read_i64(r);
	operation.part.total = dgi_read_u64(r);
	operation.part.done = dgi_read_u64(r);
	operation.tensor = dgi_read_u32(r);
	operation.row_bytes = dgi_read_u32(r);
	operation.kind = (enum dgi_entry_kind)dgi_read_u16(r);
	operation.op = dgi_read_u16(r);
	reserved = dgi_read_u32(r);
	if (r->short_read)
		return dgi_fail(err, DG_CORRUPT, "operation: cut short");
	st = check(&operation, reserved, err);
	if (st)
		return st;
	n = operand_bytes(&operation);
	operand = dgi_read_run(r, padded(n));
	if (r->short_read)
		return dgi_fail(err, DG_CORRUPT, "operation: cut short");
	if (find(operations, &operation.part.id, operation.part.number, &index))
		return dgi_fail(err, DG_CORRUPT, "operation: there twice");
	st = add(operations, &operation, operand, err);
	return st == DG_FULL ? DG_CORRUPT : st;
}

dg_status dgi_operations_decode(struct dgi_operations *operations, const void *data, size_t n,
				dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	dg_status st = DG_OK;

	while (r.left && !st)
		st = decode_one(operations, &r, err);
	return st;
}
