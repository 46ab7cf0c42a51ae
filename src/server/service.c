/* service.c -- what a server does for each message. */
#include "service.h"

#include "deadline.h"
#include "fail.h"
#include "outside.h"
#include "sessions.h"
#include "uuid.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

void dgi_service_init(struct dgi_service *service, dg_store *store)
{
	*service = (struct dgi_service){
		.store = store,
		.volume = dgi_store_volume(store),
		.started_ms = dgi_now_ms(),
	};
	dg_store_get_info(store, &service->info);
	atomic_store(&service->log_number, service->info.log_number);
}

static dg_status check_uuid(const char *what, const dg_uuid *wanted, const dg_uuid *ours,
			    dg_error *err)
{
	char wanted_text[DG_UUID_TEXT_BYTES], our_text[DG_UUID_TEXT_BYTES];

	if (dgi_uuid_is_zero(wanted) || dgi_uuid_equal(wanted, ours))
		return DG_OK;
	dgi_uuid_text(wanted, wanted_text);
	dgi_uuid_text(ours, our_text);
	return dgi_fail(err, DG_MISMATCH, "this server has %s %s, not %s", what, our_text,
			wanted_text);
}

/* A store that went back in time has lost what was acknowledged. */
static dg_status check_age(const struct dgi_service *service, const struct dgi_hello *hello,
			   dg_error *err)
{
	uint64_t log_number = atomic_load(&service->log_number);

	if (hello->incarnation <= service->info.incarnation && hello->durable <= log_number)
		return DG_OK;
	return dgi_fail(err, DG_MISMATCH,
			"this store is at start %" PRIu64 ", write %" PRIu64
			", but the client met it at start %" PRIu64 ", write %" PRIu64
			": an older copy of it is served",
			service->info.incarnation, log_number, hello->incarnation, hello->durable);
}

dg_status dgi_service_hello(const struct dgi_service *service, const void *body, size_t n,
			    uint8_t out[DGI_WELCOME_BYTES], struct dgi_hello *hello, dg_error *err)
{
	const dg_store_info *info = &service->info;
	struct dgi_welcome welcome = {
		.version = DGI_PROTOCOL_VERSION,
		.part = info->part,
		.n_parts = info->n_parts,
		.cluster_uuid = info->cluster_uuid,
		.store_uuid = info->store_uuid,
		.incarnation = info->incarnation,
		.pid = getpid(),
		.body_bytes_max = DGI_FRAME_BODY_BYTES_MAX,
		.rows_max = DGI_ROWS_MAX,
		.log_number = atomic_load(&service->log_number),
	};
	dg_status st = dgi_hello_decode(body, n, hello, err);

	if (st)
		return st;
	if (hello->version_min > DGI_PROTOCOL_VERSION || hello->version_max < DGI_PROTOCOL_VERSION)
		return dgi_fail(err, DG_VERSION,
				"this server speaks protocol version %d, the client %u to %u",
				DGI_PROTOCOL_VERSION, hello->version_min, hello->version_max);
	st = check_uuid("cluster", &hello->cluster_uuid, &info->cluster_uuid, err);
	if (!st)
		st = check_uuid("store", &hello->store_uuid, &info->store_uuid, err);
	if (!st)
		st = check_age(service, hello, err);
	if (st)
		return st;
	if (hello->part >= 0 && (uint32_t)hello->part != info->part)
		return dgi_fail(err, DG_MISMATCH, "this server has part %" PRIu32 ", not %" PRId32,
				info->part, hello->part);
	dgi_welcome_encode(&welcome, out);
	return DG_OK;
}

void dgi_service_ping(const struct dgi_service *service, uint8_t out[DGI_STATUS_BYTES])
{
	dg_server_status status = {
		.pid = getpid(),
		.uptime_ms = (uint64_t)(dgi_now_ms() - service->started_ms),
		.connections = atomic_load(&service->connections),
		.pulls = atomic_load(&service->pulls),
		.pushes = atomic_load(&service->pushes),
		.rows_pulled = atomic_load(&service->rows_pulled),
		.rows_pushed = atomic_load(&service->rows_pushed),
	};

	dg_store_get_info(service->store, &status.store);
	dgi_status_encode(&status, out);
}

dg_status dgi_service_describe(const struct dgi_service *service, const void *body, size_t n,
			       void *out, size_t room, size_t *written, dg_error *err)
{
	dg_tensor_info *tensors;
	size_t n_tensors;
	uint32_t first;
	dg_status st = dgi_describe_decode(body, n, &first, err);

	if (st)
		return st;
	st = dgi_volume_list(service->volume, &tensors, &n_tensors, err);
	if (st)
		return st;
	if (first > n_tensors)
		st = dgi_fail(err, DG_RANGE, "describe: from tensor number %" PRIu32 " of %zu",
			      first, n_tensors);
	else
		*written = dgi_described_encode(tensors, n_tensors, first, out, room);
	free(tensors);
	return st;
}

/* What strings of one answer may take. */
#define IDS_BYTES ((size_t)4 << 20)

static dg_status answer_ids(const struct dgi_service *service, const void *body, size_t n,
			    struct dgi_ids_answer *out, dg_error *err)
{
	struct dgi_outside_part part = { 0 };
	struct dgi_ids_request request;
	dg_status st = dgi_ids_request_decode(body, n, &request, err);

	if (st)
		return st;
	st = dgi_outside_part_open(service->volume, dg_store_book(service->store),
				   service->info.part, &part, err);
	if (!st)
		st = dgi_outside_answer(&part, &request, IDS_BYTES, out, err);
	dgi_outside_part_clear(&part);
	return st;
}

dg_status dgi_service_ids(const struct dgi_service *service, const void *body, size_t n,
			  struct dgi_pool *pool, uint8_t **block, size_t *bytes, dg_error *err)
{
	struct dgi_ids_answer answer = { 0 };
	dg_status st = answer_ids(service, body, n, &answer, err);

	if (st)
		return st;
	*bytes = dgi_ids_answer_bytes(&answer);
	*block = dgi_pool_get(pool, *bytes);
	if (*block)
		dgi_ids_answer_encode(&answer, *block);
	else
		st = dgi_fail_memory(err, "ids");
	dgi_ids_answer_clear(&answer);
	return st;
}

static dg_status find_tensor(const struct dgi_service *service, uint32_t id,
			     const dg_tensor_info **out, dg_error *err)
{
	*out = dgi_volume_tensor(service->volume, id);
	if (!*out)
		return dgi_fail(err, DG_NOTFOUND, "part %" PRIu32 " has no tensor number %" PRIu32,
				service->info.part, id);
	return DG_OK;
}

/* Row numbers over the whole graph become those of this store. */
static dg_status translate(const struct dgi_service *service, const dg_tensor_info *tensor,
			   dg_id *rows, size_t n, dg_error *err)
{
	dg_id start, end;

	dg_book_tensor_range(dg_store_book(service->store), tensor, service->info.part, &start,
			     &end);
	for (size_t i = 0; i < n; i++) {
		if (rows[i] < start || rows[i] >= end)
			return dgi_fail(err, DG_RANGE,
					"tensor '%s': row %" PRId64 " is not of part %" PRIu32
					", which has [%" PRId64 ", %" PRId64 ")",
					tensor->name, rows[i], service->info.part, start, end);
		rows[i] -= start;
	}
	return DG_OK;
}

/* The row numbers in the body of a pull or push. */
static dg_id *rows_in(void *body)
{
	return (dg_id *)(void *)((uint8_t *)body + DGI_PREFIX_BYTES);
}

dg_status dgi_service_plan_pull(const struct dgi_service *service, void *body, size_t n,
				struct dgi_pull_plan *out, dg_error *err)
{
	const dg_tensor_info *tensor;
	struct dgi_pull pull;
	uint64_t reply_bytes;
	dg_status st = dgi_pull_decode(body, n, &pull, err);

	if (!st)
		st = find_tensor(service, pull.tensor, &tensor, err);
	if (st)
		return st;
	reply_bytes = dgi_pulled_bytes(pull.n, tensor->row_bytes);
	if (reply_bytes > DGI_FRAME_BODY_BYTES_MAX)
		return dgi_fail(err, DG_RANGE,
				"tensor '%s': %zu rows of %" PRIu32
				" bytes, an answer holds %u bytes",
				tensor->name, pull.n, tensor->row_bytes, DGI_FRAME_BODY_BYTES_MAX);
	st = translate(service, tensor, rows_in(body), pull.n, err);
	if (!st)
		*out = (struct dgi_pull_plan){ .tensor = tensor,
					       .rows = pull.rows,
					       .n = pull.n,
					       .after = pull.after,
					       .reply_bytes = (size_t)reply_bytes };
	return st;
}

void dgi_service_begin_pull(struct dgi_service *service, const struct dgi_pull_plan *plan,
			    uint8_t *out)
{
	const struct dgi_pulled pulled = {
		.row_bytes = plan->tensor->row_bytes,
		.n = plan->n,
		.log_number = atomic_load(&service->log_number),
	};

	dgi_pulled_encode(&pulled, out);
	atomic_fetch_add(&service->pulls, 1);
	atomic_fetch_add(&service->rows_pulled, plan->n);
}

dg_status dgi_service_gather(struct dgi_service *service, const struct dgi_pull_plan *plan,
			     size_t first, size_t n, uint8_t *out, dg_error *err)
{
	dg_status st =
		dgi_volume_gather(service->volume, plan->tensor->id, plan->rows + first, n,
				  out + DGI_PREFIX_BYTES + first * plan->tensor->row_bytes, err);

	return st ? dgi_context(err, st, "part %" PRIu32, service->info.part) : DG_OK;
}

static_assert(DGI_PUSH_WINDOW <= DGI_SESSION_WINDOW, "the engine keeps what a client may repeat");
static_assert(DGI_PARAMETERS_MAX <= DGI_STEP_PARAMETERS_MAX, "parameters fit a journal's entry");

/* Of a fill the first row is translated, and the run must end within the part. */
static dg_status translate_fill(const struct dgi_service *service, const dg_tensor_info *tensor,
				dg_id run[2], dg_error *err)
{
	dg_id start, end;

	dg_book_tensor_range(dg_store_book(service->store), tensor, service->info.part, &start,
			     &end);
	if (run[0] < start || run[0] > end || run[1] < 0 || run[1] > end - run[0])
		return dgi_fail(err, DG_RANGE,
				"tensor '%s': %" PRId64 " rows from %" PRId64
				" on are not of part %" PRIu32 ", which has [%" PRId64 ", %" PRId64
				")",
				tensor->name, run[1], run[0], service->info.part, start, end);
	run[0] -= start;
	return DG_OK;
}

dg_status dgi_service_plan_push(const struct dgi_service *service, void *body,
				const struct dgi_push *push, struct dgi_write *out, dg_error *err)
{
	const bool fill = push->flags & DGI_PUSH_FILL;
	const dg_tensor_info *tensor;
	dg_status st = find_tensor(service, push->tensor, &tensor, err);

	if (st)
		return st;
	if (tensor->flags & DG_TENSOR_SYSTEM)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s' is kept by the store itself and takes no pushes",
				tensor->name);
	if (push->row_bytes != tensor->row_bytes)
		return dgi_fail(err, DG_MISMATCH,
				"tensor '%s' has rows of %" PRIu32 " bytes, the push of %" PRIu32,
				tensor->name, tensor->row_bytes, push->row_bytes);
	st = fill ? translate_fill(service, tensor, rows_in(body), err)
		  : translate(service, tensor, rows_in(body), push->n, err);
	if (st)
		return st;
	*out = (struct dgi_write){
		.tensor = tensor->id,
		.op = (dg_operation)push->operation, /* 0 for a step */
		.rule = push->rule,
		.parameters = push->parameters,
		.parameters_bytes = push->parameters_bytes,
		.fill = fill,
		.rows = push->rows,
		.n = push->n,
		.data = push->data,
		.number = push->number,
		.floor = push->floor,
	};
	return DG_OK;
}

dg_status dgi_service_plan_end(const struct dgi_service *service, const struct dgi_session_end *end,
			       struct dgi_write *out, dg_error *err)
{
	dg_tensor_info *tensors;
	dg_status st;
	size_t n;

	*out = (struct dgi_write){ .session = end->session_uuid };
	if (end->operation == DGI_SESSION_CLOSE)
		return DG_OK;
	/* A tombstone is an entry of the journal, which names a tensor, and changes no row of it. */
	out->expire = true;
	st = dgi_volume_list(service->volume, &tensors, &n, err);
	if (st)
		return st;
	for (size_t i = 0; i < n && out->tensor == 0; i++)
		if (tensors[i].durability == DG_DURABLE_COMMIT)
			out->tensor = tensors[i].id;
	free(tensors);
	if (out->tensor)
		return DG_OK;
	return dgi_fail(err, DG_UNSUPPORTED,
			"part %" PRIu32
			" has no tensor that is durable, nor a journal for a tombstone",
			service->info.part);
}

dg_status dgi_service_apply(struct dgi_service *service, struct dgi_write *writes, size_t n,
			    dg_error *err)
{
	dg_status st = dgi_volume_apply(service->volume, writes, n, err);

	for (size_t i = 0; i < n && !st; i++) {
		if (writes[i].status != DG_OK || writes[i].expire)
			continue;
		atomic_store(&service->log_number, writes[i].log_number);
		atomic_fetch_add(&service->pushes, 1);
		atomic_fetch_add(&service->rows_pushed, writes[i].n);
	}
	return st;
}

dg_status dgi_service_apply_part(struct dgi_service *service, struct dgi_write *part, dg_error *err)
{
	dg_status st = dgi_volume_apply(service->volume, part, 1, err);

	if (st || part->status != DG_OK)
		return st;
	atomic_store(&service->log_number, part->log_number);
	if (part->part.done == part->part.total) {
		atomic_fetch_add(&service->pushes, 1);
		atomic_fetch_add(&service->rows_pushed, part->part.total);
	}
	return DG_OK;
}
