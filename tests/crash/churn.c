/* churn.c -- tensors that come and go beside those of the plan. */
#include "churn.h"

#include "rng.h"
#include "volume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNER "group"
#define UUID_STREAM (UINT64_C(1) << 40)
#define SESSION (UINT64_C(1) << 20) /* among UUIDs */
#define ROWS_MAX 2048
#define FILLED 1000000 /* is added: twice would be seen */

enum what { CREATE = 0, FILL, DROP, EVENTS_A_TENSOR };

static uint32_t id_of(uint64_t tensor)
{
	return CHURN_FIRST_ID + (uint32_t)tensor;
}

static int64_t rows_of(uint64_t tensor)
{
	return 600 + (int64_t)(tensor % 7) * 200;
}

/* Every second one is a group's own. */
static bool is_temporary(uint64_t tensor)
{
	return tensor % 2;
}

/* What each row holds: at first, and once it is filled. */
static int64_t value_of(uint64_t tensor, bool filled)
{
	return (int64_t)tensor + 1 + (filled ? FILLED : 0);
}

static dg_uuid uuid_of(const struct plan *plan, uint64_t what)
{
	struct dgi_rng rng = dgi_rng_of(plan->seed, UUID_STREAM + what);
	uint64_t halves[2] = { dgi_rng_next(&rng) | 1, dgi_rng_next(&rng) };
	dg_uuid uuid;

	memcpy(uuid.bytes, halves, sizeof halves);
	return uuid;
}

static dg_tensor_spec spec_of(const struct plan *plan, uint64_t tensor)
{
	const int64_t value = value_of(tensor, false);
	dg_tensor_spec spec = { .info = { .id = id_of(tensor),
					  .dtype = DG_INT64,
					  .n_rows = rows_of(tensor),
					  .chunk_pages = tensor % 3 ? 1 : 4 } };

	spec.uuid = uuid_of(plan, tensor);
	memcpy(spec.value, &value, sizeof value);
	if (is_temporary(tensor)) {
		spec.lifetime = DG_TEMPORARY;
		(void)snprintf(spec.owner, sizeof spec.owner, OWNER);
	}
	(void)snprintf(spec.info.name, sizeof spec.info.name, "churn-%" PRIu64 "%s", tensor,
		       is_temporary(tensor) ? "_" OWNER : "");
	return spec;
}

/* In parts, where the volume has few rows in one; what an earlier try did counts. */
static dg_status fill(const struct plan *plan, struct dgi_volume *volume, uint64_t tensor,
		      bool *applied, dg_error *err)
{
	const dg_id run[2] = { 0, rows_of(tensor) / 2 };
	const int64_t value = FILLED;
	struct dgi_write write = { .tensor = id_of(tensor),
				   .op = DG_OP_ADD,
				   .fill = true,
				   .rows = run,
				   .n = 2,
				   .data = &value,
				   .session = uuid_of(plan, SESSION),
				   .number = tensor + 1 };
	dg_status st = dgi_volume_write(volume, &write, 1, err);

	*applied = write.log_number != 0;
	if (!st && write.status) {
		st = write.status;
		*err = write.error;
	}
	return st;
}

static dg_status drop(struct dgi_volume *volume, uint64_t tensor, dg_error *err)
{
	size_t n;
	dg_status st = is_temporary(tensor) ? dgi_volume_release(volume, OWNER, &n, err)
					    : dgi_volume_drop(volume, id_of(tensor), err);

	/* It may have been done before a crash, to be done again. */
	return st == DG_NOTFOUND ? DG_OK : st;
}

bool churn_is_nothing(uint64_t event)
{
	return event == DROP;
}

bool churn_may_be_in_part(uint64_t event)
{
	return event % EVENTS_A_TENSOR == FILL;
}

dg_status churn_do(const struct plan *plan, struct dgi_volume *volume, uint64_t event,
		   bool *applied, dg_error *err)
{
	const uint64_t tensor = event / EVENTS_A_TENSOR;
	dg_tensor_spec spec;
	bool existed;

	*applied = false;
	switch (event % EVENTS_A_TENSOR) {
	case CREATE:
		spec = spec_of(plan, tensor);
		return dgi_volume_create(volume, &spec, 1, &existed, err);
	case FILL:
		return fill(plan, volume, tensor, applied, err);
	default:
		return churn_is_nothing(event) ? DG_OK : drop(volume, tensor - 1, err);
	}
}

/* Is the tensor there after so many events? *filled: and has been filled. */
static bool is_there(uint64_t tensor, uint64_t events, bool *filled)
{
	*filled = events > tensor * EVENTS_A_TENSOR + FILL;
	return events > tensor * EVENTS_A_TENSOR && events <= (tensor + 1) * EVENTS_A_TENSOR + DROP;
}

static dg_status read_rows(struct dgi_volume *volume, const dg_tensor_info *info, int64_t *out,
			   dg_error *err)
{
	static dg_id rows[ROWS_MAX];

	for (dg_id i = 0; i < info->n_rows; i++)
		rows[i] = i;
	return dgi_volume_gather(volume, info->id, rows, (size_t)info->n_rows, out, err);
}

/* @partly: the first rows may be filled, as many as there have been parts. */
static bool holds(const int64_t *rows, uint64_t tensor, bool filled, bool partly)
{
	const int64_t n = rows_of(tensor);
	int64_t n_filled = filled ? n / 2 : 0;

	while (partly && n_filled < n / 2 && rows[n_filled] == value_of(tensor, true))
		n_filled++;
	for (int64_t i = 0; i < n; i++)
		if (rows[i] != value_of(tensor, i < n_filled))
			return false;
	return true;
}

/* Is @info what it is after so many events? */
static enum churn_verdict compare_tensor(struct dgi_volume *volume, const dg_tensor_info *info,
					 uint64_t events, bool under_way, dg_error *err)
{
	static int64_t rows[ROWS_MAX];
	const uint64_t tensor = info->id - CHURN_FIRST_ID;
	bool filled;

	if (!is_there(tensor, events, &filled) || info->n_rows != rows_of(tensor))
		return CHURN_WRONG;
	if (read_rows(volume, info, rows, err))
		return CHURN_UNREADABLE;
	return holds(rows, tensor, filled, under_way && events == tensor * EVENTS_A_TENSOR + FILL)
		       ? CHURN_SOUND
		       : CHURN_WRONG;
}

/* How many there are after so many events. */
static size_t count_there(uint64_t events)
{
	const uint64_t newest = events / EVENTS_A_TENSOR;
	size_t n = 0;
	bool filled;

	for (uint64_t tensor = newest > 2 ? newest - 2 : 0; tensor <= newest; tensor++)
		n += is_there(tensor, events, &filled);
	return n;
}

static enum churn_verdict compare_list(struct dgi_volume *volume, const dg_tensor_info *list,
				       size_t n, uint64_t events, bool under_way, dg_error *err)
{
	size_t n_churn = 0;

	for (size_t i = 0; i < n; i++) {
		enum churn_verdict verdict;

		if (list[i].id < CHURN_FIRST_ID)
			continue;
		verdict = compare_tensor(volume, &list[i], events, under_way, err);
		if (verdict)
			return verdict;
		n_churn++;
	}
	return n_churn == count_there(events) ? CHURN_SOUND : CHURN_WRONG;
}

static void explain(const dg_tensor_info *list, size_t n, uint64_t done, uint64_t begun)
{
	fprintf(stderr, "  after %" PRIu64 " to %" PRIu64 " events there are:", done, begun);
	for (size_t i = 0; i < n; i++)
		if (list[i].id >= CHURN_FIRST_ID)
			fprintf(stderr, " %s", list[i].name);
	fprintf(stderr, "\n");
}

enum churn_verdict churn_compare(struct dgi_volume *volume, uint64_t done, uint64_t begun,
				 uint64_t *found, dg_error *err)
{
	enum churn_verdict verdict = CHURN_WRONG;
	dg_tensor_info *list;
	size_t n;

	if (dgi_volume_list(volume, &list, &n, err))
		return CHURN_UNREADABLE;
	for (uint64_t events = done; events <= begun && verdict == CHURN_WRONG; events++) {
		verdict = compare_list(volume, list, n, events, events < begun, err);
		*found = events;
	}
	if (verdict == CHURN_WRONG)
		explain(list, n, done, begun);
	free(list);
	return verdict;
}
