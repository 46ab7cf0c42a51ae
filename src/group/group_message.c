/* group_message.c -- bodies of the messages of groups. */
#include "group_message.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "uuid.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define STRING_BYTES (2 + DGI_GROUP_NAME_BYTES - 1)
#define PLACE_BYTES (48 + DGI_GROUP_ROLES_MAX * (4 + STRING_BYTES) + 8 * DGI_GROUP_LEFT_WORDS)

static_assert(64 + 4 * STRING_BYTES + PLACE_BYTES <= DGI_GROUP_BYTES_MAX, "a request fits");
static_assert(8 + PLACE_BYTES + 2 + DG_ERROR_TEXT_BYTES <= DGI_GROUP_BYTES_MAX, "an answer fits");

static const uint16_t types[] = {
	[DGI_GROUP_JOIN] = DGI_JOIN,
	[DGI_GROUP_BEAT] = DGI_BEAT,
	[DGI_GROUP_BARRIER] = DGI_BARRIER,
	[DGI_GROUP_LEAVE] = DGI_LEAVE,
};

bool dgi_group_kind_of(uint16_t type, enum dgi_group_kind *out)
{
	for (size_t i = 0; i < DGI_COUNT_OF(types); i++)
		if (types[i] == type) {
			*out = (enum dgi_group_kind)i;
			return true;
		}
	return false;
}

uint16_t dgi_group_type_of(enum dgi_group_kind kind)
{
	return types[kind];
}

static size_t left_words(uint32_t size)
{
	return (size + 63) / 64;
}

static void write_place(struct dgi_writer *w, const struct dgi_group_place *place, uint32_t size)
{
	dgi_write_u64(w, place->instance);
	if (!place->instance)
		return;
	dgi_write_u32(w, place->life);
	dgi_write_u32(w, place->rank);
	dgi_write_u32(w, place->role_rank);
	dgi_write_u32(w, place->local_rank);
	dgi_write_u32(w, place->n_local);
	dgi_write_u32(w, place->n_roles);
	for (int i = 0; i < DGI_GROUP_SCOPES; i++)
		dgi_write_u64(w, place->passed[i]);
	for (size_t i = 0; i < left_words(size); i++)
		dgi_write_u64(w, place->left[i]);
	for (uint32_t i = 0; i < place->n_roles; i++) {
		dgi_write_u32(w, place->roles[i].size);
		dgi_write_string(w, place->roles[i].name);
	}
}

/* Equal names are equal bytes, whatever stood there before. */
static void read_name(struct dgi_reader *r, char out[DGI_GROUP_NAME_BYTES])
{
	memset(out, 0, DGI_GROUP_NAME_BYTES);
	dgi_read_string(r, out, DGI_GROUP_NAME_BYTES);
}

/* Do the roles add up, with the rank at its place among them? */
static dg_status check_place(const struct dgi_group_place *place, uint32_t size, dg_error *err)
{
	uint64_t sum = 0, first = 0;

	for (uint32_t i = 0; i < place->n_roles; i++) {
		if (place->rank >= sum)
			first = sum;
		sum += place->roles[i].size;
		if (place->roles[i].size == 0 || place->roles[i].name[0] == '\0')
			sum = UINT64_MAX / 2;
	}
	if (sum != size || place->rank >= size || place->role_rank != place->rank - first ||
	    place->life == 0)
		return dgi_fail(err, DG_PROTO,
				"group: rank %" PRIu32 " of %" PRIu32 ", %" PRIu32
				" of its role, and roles for %" PRIu64,
				place->rank, size, place->role_rank, sum);
	/* Ranks beyond the last cannot have left. */
	if (size % 64 && place->left[size / 64] >> (size % 64))
		return dgi_fail(err, DG_PROTO, "group of %" PRIu32 ": more have left", size);
	return DG_OK;
}

static dg_status read_place(struct dgi_reader *r, uint32_t size, struct dgi_group_place *place,
			    dg_error *err)
{
	*place = (struct dgi_group_place){ .instance = dgi_read_u64(r) };
	if (!place->instance)
		return DG_OK;
	place->life = dgi_read_u32(r);
	place->rank = dgi_read_u32(r);
	place->role_rank = dgi_read_u32(r);
	place->local_rank = dgi_read_u32(r);
	place->n_local = dgi_read_u32(r);
	place->n_roles = dgi_read_u32(r);
	if (place->n_roles > DGI_GROUP_ROLES_MAX)
		return dgi_fail(err, DG_PROTO, "group: %" PRIu32 " roles, at most %u",
				place->n_roles, DGI_GROUP_ROLES_MAX);
	for (int i = 0; i < DGI_GROUP_SCOPES; i++)
		place->passed[i] = dgi_read_u64(r);
	for (size_t i = 0; i < left_words(size); i++)
		place->left[i] = dgi_read_u64(r);
	for (uint32_t i = 0; i < place->n_roles; i++) {
		place->roles[i].size = dgi_read_u32(r);
		read_name(r, place->roles[i].name);
	}
	if (r->short_read)
		return dgi_fail(err, DG_PROTO, "group: a place that is cut off");
	return check_place(place, size, err);
}

static dg_status check_size(uint32_t size, dg_error *err)
{
	if (size >= 1 && size <= DGI_GROUP_MEMBERS_MAX)
		return DG_OK;
	return dgi_fail(err, DG_PROTO, "group of %" PRIu32 " members, want 1 to %u", size,
			DGI_GROUP_MEMBERS_MAX);
}

size_t dgi_group_request_encode(const struct dgi_group_request *request,
				uint8_t out[DGI_GROUP_BYTES_MAX])
{
	const struct dgi_group_claim *claim = request->claim;
	struct dgi_writer w = dgi_writer_of(out, DGI_GROUP_BYTES_MAX);

	dgi_write_bytes(&w, claim->id.bytes, sizeof claim->id.bytes);
	dgi_write_u32(&w, claim->size);
	dgi_write_u32(&w, (uint32_t)claim->machine);
	dgi_write_i64(&w, claim->pid);
	dgi_write_u32(&w, (uint32_t)claim->wanted_rank);
	dgi_write_u32(&w, (uint32_t)claim->wanted_local);
	dgi_write_u32(&w, (uint32_t)request->scope);
	dgi_write_u32(&w, 0);
	dgi_write_string(&w, claim->group);
	dgi_write_string(&w, claim->role);
	dgi_write_string(&w, claim->host);
	dgi_write_string(&w, request->barrier);
	write_place(&w, &claim->place, claim->size);
	DGI_ASSERT(!w.short_write);
	return w.written;
}

dg_status dgi_group_request_decode(const void *body, size_t n, struct dgi_group_claim *claim,
				   struct dgi_group_request *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	uint32_t scope;
	dg_status st;

	*claim = (struct dgi_group_claim){ 0 };
	dgi_read_bytes(&r, claim->id.bytes, sizeof claim->id.bytes);
	claim->size = dgi_read_u32(&r);
	claim->machine = (int32_t)dgi_read_u32(&r);
	claim->pid = dgi_read_i64(&r);
	claim->wanted_rank = (int32_t)dgi_read_u32(&r);
	claim->wanted_local = (int32_t)dgi_read_u32(&r);
	scope = dgi_read_u32(&r);
	(void)dgi_read_u32(&r);
	read_name(&r, claim->group);
	read_name(&r, claim->role);
	read_name(&r, claim->host);
	read_name(&r, out->barrier);
	if (r.short_read || scope >= DGI_GROUP_SCOPES || claim->group[0] == '\0' ||
	    claim->role[0] == '\0' || dgi_uuid_is_zero(&claim->id))
		return dgi_fail(err, DG_PROTO,
				"group: a claim that is cut off, nobody's, or without a name");
	st = check_size(claim->size, err);
	if (!st)
		st = read_place(&r, claim->size, &claim->place, err);
	if (!st && (r.short_read || r.left))
		st = dgi_fail(err, DG_PROTO, "group: body of %zu bytes has the wrong length", n);
	out->scope = (enum dgi_group_scope)scope;
	out->claim = claim;
	return st;
}

size_t dgi_group_answer_encode(const struct dgi_group_answer *answer, uint32_t size,
			       uint8_t out[DGI_GROUP_BYTES_MAX])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_GROUP_BYTES_MAX);

	write_place(&w, &answer->place, size);
	dgi_write_string(&w, answer->error.text);
	DGI_ASSERT(!w.short_write);
	return w.written;
}

dg_status dgi_group_answer_decode(const void *body, size_t n, uint32_t size,
				  struct dgi_group_answer *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	dg_status st = check_size(size, err);

	if (!st)
		st = read_place(&r, size, &out->place, err);
	if (st)
		return st;
	dgi_read_string(&r, out->error.text, sizeof out->error.text);
	if (r.short_read || r.left)
		return dgi_fail(err, DG_PROTO, "group reply: body of %zu bytes, wrong length", n);
	return DG_OK;
}
