/* ids_message.c -- the message about outside ids. */
#include "ids_message.h"

#include "bytes.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void dgi_ids_answer_clear(struct dgi_ids_answer *answer)
{
	free(answer->numbers);
	free(answer->text);
	*answer = (struct dgi_ids_answer){ 0 };
}

void dgi_ids_request_encode(const struct dgi_ids_request *request, uint8_t out[DGI_PREFIX_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_PREFIX_BYTES);

	memset(out, 0, DGI_PREFIX_BYTES);
	dgi_write_u16(&w, request->type);
	dgi_write_u16(&w, request->operation);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, request->n);
}

dg_status dgi_ids_request_decode(const void *body, size_t n, struct dgi_ids_request *out,
				 dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_ids_request request = { .type = dgi_read_u16(&r) };
	uint64_t n_numbers;

	request.operation = dgi_read_u16(&r);
	(void)dgi_read_u32(&r);
	n_numbers = dgi_read_u64(&r);
	if (r.short_read || n < DGI_PREFIX_BYTES || n_numbers > DGI_IDS_BATCH ||
	    n - DGI_PREFIX_BYTES != n_numbers * sizeof(int64_t))
		return dgi_fail(err, DG_PROTO,
				"ids: a body of %zu bytes for %" PRIu64 " numbers, at most %d", n,
				n_numbers, DGI_IDS_BATCH);
	if (request.operation > DGI_IDS_LOOKUP)
		return dgi_fail(err, DG_PROTO, "ids: operation %u", request.operation);
	request.n = (size_t)n_numbers;
	request.numbers = (const int64_t *)(const void *)((const uint8_t *)body + DGI_PREFIX_BYTES);
	*out = request;
	return DG_OK;
}

static size_t numbers_of(const struct dgi_ids_answer *answer)
{
	return answer->n + answer->strings;
}

size_t dgi_ids_answer_bytes(const struct dgi_ids_answer *answer)
{
	return DGI_PREFIX_BYTES + numbers_of(answer) * sizeof(int64_t) + answer->text_bytes;
}

void dgi_ids_answer_encode(const struct dgi_ids_answer *answer, uint8_t *out)
{
	struct dgi_writer w = dgi_writer_of(out, dgi_ids_answer_bytes(answer));
	size_t bytes = numbers_of(answer) * sizeof(int64_t);

	memset(out, 0, DGI_PREFIX_BYTES);
	dgi_write_u16(&w, (uint16_t)answer->form);
	dgi_write_u16(&w, answer->strings);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, answer->seed);
	dgi_write_u64(&w, answer->n);
	dgi_write_u64(&w, answer->text_bytes);
	if (bytes > 0)
		memcpy(out + DGI_PREFIX_BYTES, answer->numbers, bytes);
	if (answer->text_bytes > 0)
		memcpy(out + DGI_PREFIX_BYTES + bytes, answer->text, answer->text_bytes);
}

/* Offsets that begin with 0, do not fall, and end with the text. */
static bool offsets_are_sound(const struct dgi_ids_answer *answer)
{
	if (answer->numbers[0] != 0 || answer->numbers[answer->n] != (int64_t)answer->text_bytes)
		return false;
	for (size_t i = 0; i < answer->n; i++)
		if (answer->numbers[i] > answer->numbers[i + 1])
			return false;
	return true;
}

static dg_status copy_arrays(const uint8_t *from, struct dgi_ids_answer *out, dg_error *err)
{
	size_t bytes = numbers_of(out) * sizeof(int64_t);

	out->numbers = malloc(bytes + 1);
	out->text = malloc(out->text_bytes + 1);
	if (!out->numbers || !out->text)
		return dgi_fail_memory(err, "ids");
	memcpy(out->numbers, from, bytes);
	memcpy(out->text, from + bytes, out->text_bytes);
	if (out->strings && !offsets_are_sound(out))
		return dgi_fail(err, DG_PROTO, "ids: strings that do not cut their text");
	return DG_OK;
}

dg_status dgi_ids_answer_decode(const void *body, size_t n, struct dgi_ids_answer *out,
				dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_ids_answer answer = { .form = (dg_outside_form)dgi_read_u16(&r) };
	uint16_t strings = dgi_read_u16(&r);
	uint64_t n_ids, text_bytes, left;
	dg_status st;

	(void)dgi_read_u32(&r);
	answer.seed = dgi_read_u64(&r);
	n_ids = dgi_read_u64(&r);
	text_bytes = dgi_read_u64(&r);
	left = n < DGI_PREFIX_BYTES ? 0 : n - DGI_PREFIX_BYTES;
	if (r.short_read || n < DGI_PREFIX_BYTES || strings > 1 || n_ids > DGI_IDS_BATCH ||
	    text_bytes > left || left - text_bytes != (n_ids + strings) * sizeof(int64_t) ||
	    (!strings && text_bytes > 0) || answer.form > DG_OUTSIDE_STRINGS)
		return dgi_fail(err, DG_PROTO,
				"ids: a body of %zu bytes for %" PRIu64 " ids and %" PRIu64
				" bytes of text",
				n, n_ids, text_bytes);
	answer.n = (size_t)n_ids;
	answer.strings = strings;
	answer.text_bytes = (size_t)text_bytes;
	st = copy_arrays((const uint8_t *)body + DGI_PREFIX_BYTES, &answer, err);
	if (st)
		dgi_ids_answer_clear(&answer);
	else
		*out = answer;
	return st;
}
