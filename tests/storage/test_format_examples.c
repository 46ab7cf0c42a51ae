/* The hex examples of docs/format.md are read out of it and decoded. */
#include "test.h"

#include "block.h"
#include "bytes.h"
#include "chunk.h"
#include "entry.h"
#include "files.h"
#include "mark.h"
#include "operations.h"
#include "ops.h"
#include "outside.h"
#include "segment.h"
#include "sessions.h"
#include "superblock.h"
#include "record.h"
#include "tensor_info.h"
#include "tensor_record.h"
#include "uuid.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE_UUID "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
#define SESSION_ID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

static char *document;

struct example {
	uint8_t data[512];
	size_t n;
};

/* Appends the bytes of one line: an offset, hex pairs, and a remark behind '|'. Bytes that are left
 * out in front of it are 0. */
static const char *read_line(const char *at, struct example *out)
{
	const char *end = strchr(at, '\n');
	size_t offset = strtoul(at, NULL, 16);

	assert_non_null(end);
	assert_true(offset >= out->n && offset < sizeof out->data);
	out->n = offset;
	at += strcspn(at, " ");
	while (at < end && *at != '|') {
		char *behind;

		if (*at == ' ') {
			at++;
			continue;
		}
		assert_true(isxdigit((unsigned char)*at) && out->n < sizeof out->data);
		out->data[out->n++] = (uint8_t)strtoul(at, &behind, 16);
		assert_int_equal(behind - at, 2);
		at = behind;
	}
	return end + 1;
}

static struct example find(const char *name)
{
	struct example example = { 0 };
	char fence[64];
	const char *at;

	(void)snprintf(fence, sizeof fence, "```hex %s\n", name);
	at = strstr(document, fence);
	if (!at)
		fail_msg("no example '%s' in docs/format.md", name);
	at += strlen(fence);
	while (strncmp(at, "```", 3) != 0)
		at = read_line(at, &example);
	return example;
}

/* Key and record of an example, verified; the payload is at value->data + 48. */
static struct dgi_record decode(const char *name, struct dgi_key *key, struct example *value)
{
	struct example key_bytes;
	struct dgi_record record;
	char text[64];
	dg_uuid uuid;
	dg_error err = { 0 };

	assert_ok(dgi_uuid_parse(STORE_UUID, &uuid, &err), &err);
	(void)snprintf(text, sizeof text, "%s-key", name);
	key_bytes = find(text);
	(void)snprintf(text, sizeof text, "%s-value", name);
	*value = find(text);
	assert_ok(dgi_key_decode(key_bytes.data, key_bytes.n, key, &err), &err);
	assert_ok(dgi_record_read(value->data, value->n,
				  key->kind == DGI_KIND_SUPERBLOCK ? NULL : &uuid, key, &record,
				  &err),
		  &err);
	assert_int_equal(record.payload_bytes, value->n - 48);
	return record;
}

static void the_superblock_is_as_described(void **state)
{
	struct dgi_key key;
	struct example value;
	struct dgi_record record = decode("superblock", &key, &value);
	uint8_t again[DGI_SUPERBLOCK_BYTES];
	char text[DG_UUID_TEXT_BYTES];
	struct dgi_superblock s;
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(key.kind, DGI_KIND_SUPERBLOCK);
	assert_int_equal(record.payload_bytes, DGI_SUPERBLOCK_BYTES);
	assert_ok(dgi_superblock_decode(value.data + 48, DGI_SUPERBLOCK_BYTES, &s, &err), &err);
	dgi_uuid_text(&s.store_uuid, text);
	assert_string_equal(text, STORE_UUID);
	dgi_uuid_text(&s.cluster_uuid, text);
	assert_string_equal(text, "00112233-4455-4677-8899-aabbccddeeff");
	assert_int_equal(s.part, 1);
	assert_int_equal(s.n_parts, 4);
	assert_int_equal(s.format_read, DGI_FORMAT_VERSION);
	assert_ok(dgi_superblock_check(&s, true, &err), &err);
	dgi_superblock_encode(&s, again);
	assert_memory_equal(again, value.data + 48, sizeof again);
}

static dg_tensor_info example_tensor(void)
{
	struct dgi_key key;
	struct example value;
	struct dgi_record record = decode("tensor", &key, &value);
	dg_tensor_info info;
	dg_error err = { 0 };
	size_t used;

	assert_int_equal(key.kind, DGI_KIND_TENSOR);
	assert_ok(dgi_tensor_info_decode(value.data + 48, record.payload_bytes, &info, &used, &err),
		  &err);
	assert_int_equal(used, record.payload_bytes);
	assert_int_equal(info.id, key.tensor);
	return info;
}

static void the_part_of_an_operation_is_as_described(void **state)
{
	struct example example = find("part-entry");
	const float operand[2] = { 1, 0 };
	struct dgi_entry entry;
	dg_error err = { 0 };
	uint8_t again[512];
	size_t used;

	(void)state;
	assert_ok(dgi_entry_decode(example.data, example.n, &entry, &used, &err), &err);
	assert_int_equal(used, example.n);
	assert_int_equal(entry.kind, DGI_ENTRY_FILL);
	assert_int_equal(entry.op, DG_OP_ADD);
	assert_int_equal(entry.log_number, 8);
	assert_int_equal(entry.first, 2);
	assert_int_equal(entry.count, 1);
	assert_memory_equal(entry.operands, operand, sizeof operand);
	assert_int_equal(entry.part.number, 5);
	assert_int_equal(entry.part.total, 3);
	assert_int_equal(entry.part.done, 3);
	dgi_entry_encode(&entry, again);
	assert_memory_equal(again, example.data, example.n);
}

static void the_table_of_operations_is_as_described(void **state)
{
	struct dgi_operations operations = { 0 };
	const struct dgi_operation *operation;
	struct dgi_record record;
	struct example value;
	struct dgi_key key;
	dg_error err = { 0 };
	uint8_t *again;
	size_t n;

	(void)state;
	record = decode("operations", &key, &value);
	assert_int_equal(record.log, 7);
	assert_ok(dgi_operations_decode(&operations, value.data + 48, record.payload_bytes, &err),
		  &err);
	assert_int_equal(operations.n, 1);
	operation = &operations.list[0];
	assert_int_equal(operation->tensor, 3);
	assert_int_equal(operation->kind, DGI_ENTRY_FILL);
	assert_int_equal(operation->part.done, 2);
	assert_int_equal(operation->part.total, 3);
	assert_ok(dgi_operations_encode(&operations, &again, &n, &err), &err);
	assert_int_equal(n, record.payload_bytes);
	assert_memory_equal(again, value.data + 48, n);
	free(again);
	dgi_operations_clear(&operations);
}

static void the_created_tensor_is_as_described(void **state)
{
	struct example value;
	struct dgi_key key;
	struct dgi_record header = decode("created", &key, &value);
	struct dgi_tensor_record tensor;
	dg_error err = { 0 };
	uint8_t payload[DGI_TENSOR_RECORD_BYTES_MAX];
	char uuid[DG_UUID_TEXT_BYTES];
	float half;

	(void)state;
	assert_int_equal(header.version, DGI_TENSOR_RECORD_VERSION);
	assert_ok(dgi_tensor_record_decode(value.data + 48, header.payload_bytes, header.version,
					   &tensor, &err),
		  &err);
	assert_int_equal(tensor.spec.info.id, key.tensor);
	assert_string_equal(tensor.spec.info.name, "m_job7");
	assert_false(tensor.dropped);
	assert_int_equal(tensor.spec.lifetime, DG_TEMPORARY);
	assert_string_equal(tensor.spec.owner, "job7");
	assert_int_equal(tensor.spec.seed, 42);
	memcpy(&half, tensor.spec.value, sizeof half);
	assert_true(half == 0.5F);
	dgi_uuid_text(&tensor.spec.uuid, uuid);
	assert_string_equal(uuid, "f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
	assert_int_equal(dgi_tensor_record_encode(&tensor, payload), header.payload_bytes);
	assert_memory_equal(payload, value.data + 48, header.payload_bytes);
}

static void the_tensor_is_as_described(void **state)
{
	dg_tensor_info info = example_tensor();

	(void)state;
	assert_int_equal(info.id, 3);
	assert_string_equal(info.name, "feat");
	assert_int_equal(info.dtype, DG_FLOAT32);
	assert_int_equal(info.rank, 1);
	assert_int_equal(info.shape[0], 2);
	assert_int_equal(info.n_rows, 3);
	assert_int_equal(info.chunk_pages, 1);
	assert_int_equal(info.chunk_rows, 504);
}

static void the_chunk_is_as_described(void **state)
{
	const float wanted[] = { 1, 2, 0.5f, -1, 0, 100 };
	dg_tensor_info info = example_tensor();
	struct dgi_cut cut = dgi_cut_of(&info);
	struct dgi_key key;
	struct example value;
	struct dgi_record record = decode("chunk", &key, &value);

	(void)state;
	assert_int_equal(key.kind, DGI_KIND_CHUNK);
	assert_int_equal(key.tensor, 3);
	assert_int_equal(key.chunk, 0);
	assert_int_equal(key.log, 5);
	assert_int_equal(record.log, 5);
	assert_int_equal(cut.value_bytes, 4080);
	assert_int_equal(record.count, dgi_cut_rows(&cut, 0));
	assert_int_equal(record.payload_bytes, sizeof wanted);
	assert_memory_equal(value.data + 48, wanted, sizeof wanted);
}

static struct dgi_entry entry_at(const struct example *block, size_t *at)
{
	struct dgi_entry entry;
	uint8_t again[128];
	dg_error err = { 0 };
	size_t used;

	assert_ok(dgi_entry_decode(block->data + *at, block->n - *at, &entry, &used, &err), &err);
	assert_true(used <= sizeof again);
	dgi_entry_encode(&entry, again);
	assert_memory_equal(again, block->data + *at, used);
	*at += used;
	return entry;
}

static void add_is_as_described(const struct dgi_entry *entry, float (*rows)[2])
{
	char text[DG_UUID_TEXT_BYTES];

	assert_int_equal(entry->kind, DGI_ENTRY_ROWS);
	assert_int_equal(entry->op, DG_OP_ADD);
	assert_int_equal(entry->log_number, 6);
	assert_int_equal(entry->tensor, 3);
	assert_int_equal(entry->n, 1);
	assert_int_equal(dgi_get_u64(entry->rows), 1);
	dgi_uuid_text(&entry->session.id, text);
	assert_string_equal(text, SESSION_ID);
	assert_int_equal(entry->session.number, 4);
	assert_int_equal(entry->session.window, 5);
	dgi_op_apply(DG_OP_ADD, DG_FLOAT32, 2, rows[1], entry->operands, rows[1]);
}

static void fill_is_as_described(const struct dgi_entry *entry, float (*rows)[2])
{
	assert_int_equal(entry->kind, DGI_ENTRY_FILL);
	assert_int_equal(entry->op, DG_OP_MULTIPLY);
	assert_int_equal(entry->log_number, 7);
	assert_int_equal(entry->first, 0);
	assert_int_equal(entry->count, 3);
	assert_true(dgi_uuid_is_zero(&entry->session.id));
	for (size_t i = 0; i < 3; i++)
		dgi_op_apply(DG_OP_MULTIPLY, DG_FLOAT32, 2, rows[i], entry->operands, rows[i]);
}

static void the_block_and_its_entries_are_as_described(void **state)
{
	const float wanted[3][2] = { { 2, 4 }, { 2, 0 }, { 0, 200 } };
	float rows[3][2] = { { 1, 2 }, { 0.5f, -1 }, { 0, 100 } };
	struct dgi_key key;
	struct example block;
	struct dgi_record record = decode("block", &key, &block);
	struct dgi_entry entry;
	size_t at = 48;

	(void)state;
	assert_int_equal(key.kind, DGI_KIND_BLOCK);
	assert_int_equal(key.block, 2);
	assert_int_equal(record.log, 7);
	assert_int_equal(record.count, 0);
	entry = entry_at(&block, &at);
	add_is_as_described(&entry, rows);
	entry = entry_at(&block, &at);
	fill_is_as_described(&entry, rows);
	assert_int_equal(at, block.n);
	assert_memory_equal(rows, wanted, sizeof wanted);
}

static void blocks_have_the_sizes_described(void **state)
{
	const uint32_t pages[] = { 1, 4, 16, 64, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
		assert_int_equal(dgi_block_pages(dgi_block_room(pages[i])), pages[i]);
}

static void the_session_table_is_as_described(void **state)
{
	struct dgi_key key;
	struct example value;
	struct dgi_record record = decode("sessions", &key, &value);
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	struct dgi_sessions *sessions;
	dg_error err = { 0 };
	dg_uuid id;

	(void)state;
	assert_int_equal(key.kind, DGI_KIND_SESSIONS);
	assert_int_equal(record.log, 5);
	assert_ok(dgi_uuid_parse(SESSION_ID, &id, &err), &err);
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	assert_ok(dgi_sessions_decode(sessions, value.data + 48, record.payload_bytes, &err), &err);
	for (uint64_t number = 1; number <= 3; number++) {
		assert_ok(dgi_sessions_look(sessions, &id, number, 0, &novelty, &mark, &err), &err);
		assert_int_equal(novelty, number == 2 ? DGI_PUSH_NEW : DGI_PUSH_REPEAT);
	}
	assert_ok(dgi_sessions_look(sessions, &id, 4, 0, &novelty, &mark, &err), &err);
	assert_int_equal(mark.number, 4);
	assert_int_equal(mark.window, 5);
	dgi_sessions_free(sessions);
}

static void the_mark_is_as_described(void **state)
{
	struct example slot = find("mark-slot");
	uint8_t again[DGI_MARK_SLOT_BYTES];
	struct dgi_mark mark;
	dg_error err = { 0 };
	uint64_t turn;
	dg_uuid uuid;

	(void)state;
	assert_int_equal(slot.n, DGI_MARK_SLOT_BYTES);
	assert_ok(dgi_uuid_parse(STORE_UUID, &uuid, &err), &err);
	assert_ok(dgi_mark_decode(slot.data, &uuid, &mark, &turn, &err), &err);
	assert_int_equal(turn, 9);
	assert_int_equal(mark.log_number, 7);
	assert_int_equal(mark.incarnation, 3);
	assert_true(mark.clean);
	dgi_mark_encode(&mark, turn, &uuid, again);
	assert_memory_equal(again, slot.data, sizeof again);
}

static int load_document(void **state)
{
	dg_error err = { 0 };
	size_t n;

	(void)state;
	assert_ok(dgi_file_read(FORMAT_MD, 1 << 20, &document, &n, &err), &err);
	return 0;
}

static void the_head_of_outside_ids_is_as_described(void **state)
{
	static const int64_t wanted[2 * DGI_OUTSIDE_FIELDS] = {
		[DGI_OUTSIDE_FIELDS + DGI_OUTSIDE_FORM] = DG_OUTSIDE_STRINGS,
		[DGI_OUTSIDE_FIELDS + DGI_OUTSIDE_INDEX_N] = 3,
	};
	const struct example key_bytes = find("outside-key");
	const struct example value = find("outside-value");
	const struct dgi_segment_layout layout = dgi_segment_layout_of(sizeof wanted);
	struct dgi_key key;
	uint64_t seed, sum;
	dg_uuid uuid;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_uuid_parse(STORE_UUID, &uuid, &err), &err);
	assert_ok(dgi_key_decode(key_bytes.data, key_bytes.n, &key, &err), &err);
	assert_int_equal(key.kind, DGI_KIND_SEGMENT);
	assert_int_equal(key.etype, DGI_OUTSIDE_ETYPE);
	assert_int_equal(key.array, DGI_OUTSIDE_HEAD);
	assert_int_equal(layout.value_bytes, 4080);
	assert_int_equal(value.n, layout.sums_at + sizeof sum);
	assert_ok(dgi_segment_read(value.data, &layout, &uuid, &key, 2 * DGI_OUTSIDE_FIELDS, &seed,
				   &err),
		  &err);
	memcpy(&sum, value.data + layout.sums_at, sizeof sum);
	assert_true(dgi_segment_sum(value.data + 48, sizeof wanted, seed, 0) == sum);
	assert_memory_equal(value.data + 48, wanted, sizeof wanted);
	assert_true(dgi_outside_hash_integer(0) == 0xe220a8397b1dcdaf);
	assert_true(dgi_outside_hash_string("ada", 3, 0) == 0x691d4463952c802f);
}

static int free_document(void **state)
{
	(void)state;
	free(document);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_superblock_is_as_described),
		cmocka_unit_test(the_tensor_is_as_described),
		cmocka_unit_test(the_created_tensor_is_as_described),
		cmocka_unit_test(the_part_of_an_operation_is_as_described),
		cmocka_unit_test(the_table_of_operations_is_as_described),
		cmocka_unit_test(the_chunk_is_as_described),
		cmocka_unit_test(the_block_and_its_entries_are_as_described),
		cmocka_unit_test(blocks_have_the_sizes_described),
		cmocka_unit_test(the_session_table_is_as_described),
		cmocka_unit_test(the_head_of_outside_ids_is_as_described),
		cmocka_unit_test(the_mark_is_as_described),
	};

	return cmocka_run_group_tests(tests, load_document, free_document);
}
