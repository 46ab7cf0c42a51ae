/* client_ids.c -- outside ids by the servers. */
#include "client_state.h"

#include "fail.h"
#include "outside.h"

#include <string.h>

/* What the questions of one call are asked with. */
struct asking {
	dg_client *client;
	struct dgi_deadline deadline;
};

static dg_status ask(void *context, uint32_t part, const struct dgi_ids_request *request,
		     struct dgi_ids_answer *out, dg_error *err)
{
	struct asking *asking = context;
	dg_client *client = asking->client;
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct iovec numbers = { .iov_base = (void *)(uintptr_t)request->numbers,
				 .iov_len = request->n * sizeof(int64_t) };
	struct dgi_body body = { .copied = prefix,
				 .copied_bytes = sizeof prefix,
				 .lent = &numbers,
				 .n_lent = request->n > 0 };
	struct dgi_message reply;
	dg_status st;

	dgi_ids_request_encode(request, prefix);
	st = dgi_client_call(client, part, DGI_IDS, &body, asking->deadline, &reply, err);
	if (st)
		return st;
	st = dgi_ids_answer_decode(reply.body, reply.head_bytes, out, err);
	dgi_message_clear(&client->pool, &reply);
	return st ? dgi_link_context(&client->channels[part].link, st, err) : DG_OK;
}

static dg_status table(void *context, dg_side side, uint16_t type, const char *name,
		       const dg_id *ids, size_t n, dg_id *out, dg_error *err)
{
	struct asking *asking = context;

	return strcmp(name, DG_TENSOR_ORIGINAL_ID) == 0
		       ? dg_client_to_original(asking->client, side, type, ids, n, out, err)
		       : dg_client_to_internal(asking->client, side, type, ids, n, out, err);
}

static dg_status begin(struct asking *asking, dg_client *client, struct dgi_ids_asker *out,
		       dg_error *err)
{
	asking->client = client;
	*out = (struct dgi_ids_asker){
		.context = asking, .book = dg_client_book(client), .ask = ask, .table = table
	};
	asking->deadline = dgi_deadline_in(client->timeout_ms);
	return dgi_client_check(client, err);
}

dg_status dg_client_outside_form(dg_client *client, dg_side side, uint16_t type,
				 dg_outside_form *form, dg_error *err)
{
	struct dgi_ids_asker asker;
	struct asking asking;
	dg_status st = begin(&asking, client, &asker, err);

	return st ? st : dgi_outside_form(&asker, side, type, form, err);
}

dg_status dg_client_to_outside(dg_client *client, dg_side side, uint16_t type, const dg_id *ids,
			       size_t n, dg_outside_ids *out, dg_error *err)
{
	struct dgi_ids_asker asker;
	struct asking asking;
	dg_status st = begin(&asking, client, &asker, err);

	return st ? st : dgi_to_outside(&asker, side, type, ids, n, out, err);
}

dg_status dg_client_from_outside(dg_client *client, dg_side side, uint16_t type,
				 const dg_outside_ids *ids, dg_id *out, dg_error *err)
{
	struct dgi_ids_asker asker;
	struct asking asking;
	dg_status st = begin(&asking, client, &asker, err);

	return st ? st : dgi_from_outside(&asker, side, type, ids, out, err);
}
