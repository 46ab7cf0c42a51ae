/* group_options.c -- what a process claims when it joins. */
#include "group_options.h"

#include "fail.h"
#include "uuid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a launcher calls things. */
struct launcher {
	const char *size, *rank, *local, *machine;
};

static const struct launcher torchrun = { "WORLD_SIZE", "RANK", "LOCAL_RANK", "GROUP_RANK" };
static const struct launcher slurm = { "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID",
				       "SLURM_NODEID" };

static dg_status copy_name(const char *what, const char *name, const char *otherwise,
			   char out[DGI_GROUP_NAME_BYTES], dg_error *err)
{
	const char *from = name ? name : otherwise;
	size_t n = strlen(from);

	if (n == 0 || n >= DGI_GROUP_NAME_BYTES)
		return dgi_fail(err, DG_INVALID, "%s: a name of %zu bytes, want 1 to %u", what, n,
				DGI_GROUP_NAME_BYTES - 1);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)from[i] < 0x20 || from[i] == 0x7f)
			return dgi_fail(err, DG_INVALID, "%s: a name with control characters",
					what);
	memset(out, 0, DGI_GROUP_NAME_BYTES);
	memcpy(out, from, n);
	return DG_OK;
}

/* Leaves *out alone where the variable is not set. */
static dg_status read_number(const char *variable, int32_t *out, dg_error *err)
{
	const char *text = getenv(variable);
	char *end;
	long value;

	if (!text || !*text)
		return DG_OK;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || *end || value < 0 || value > INT32_MAX)
		return dgi_fail(err, DG_INVALID, "environment: %s is '%.40s', want a number",
				variable, text);
	*out = (int32_t)value;
	return DG_OK;
}

static bool is_set(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text;
}

static dg_status ask_launcher(struct dgi_group_claim *claim, int32_t *size, dg_error *err)
{
	const struct launcher *l = is_set(torchrun.size) ? &torchrun : &slurm;
	dg_status st;

	if (!is_set(l->size))
		return dgi_fail(err, DG_INVALID,
				"group '%s': no size is given, and neither %s nor %s is set",
				claim->group, torchrun.size, slurm.size);
	st = read_number(l->size, size, err);
	if (!st)
		st = read_number(l->rank, &claim->wanted_rank, err);
	if (!st)
		st = read_number(l->local, &claim->wanted_local, err);
	return st ? st : read_number(l->machine, &claim->machine, err);
}

static dg_status check_number(const char *what, uint32_t value, int32_t *out, dg_error *err)
{
	if (value > INT32_MAX)
		return dgi_fail(err, DG_INVALID, "%s %" PRIu32 ": too large", what, value);
	*out = (int32_t)value;
	return DG_OK;
}

static dg_status take_numbers(const dg_group_options *options, struct dgi_group_claim *claim,
			      dg_error *err)
{
	int32_t size = 0;
	dg_status st;

	claim->wanted_rank = claim->wanted_local = -1;
	st = options->size ? check_number("size", options->size, &size, err)
			   : ask_launcher(claim, &size, err);
	if (!st)
		st = read_number("DG_MACHINE", &claim->machine, err);
	if (!st && options->has_rank)
		st = check_number("rank", options->rank, &claim->wanted_rank, err);
	if (!st && options->has_local_rank)
		st = check_number("local rank", options->local_rank, &claim->wanted_local, err);
	if (!st && options->has_machine)
		st = check_number("machine", options->machine, &claim->machine, err);
	if (!st && (size < 1 || size > (int32_t)DGI_GROUP_MEMBERS_MAX))
		st = dgi_fail(err, DG_INVALID, "group '%s' of %" PRId32 ", want 1 to %u",
			      claim->group, size, DGI_GROUP_MEMBERS_MAX);
	claim->size = (uint32_t)size;
	return st;
}

dg_status dgi_group_claim_make(const dg_group_options *options, struct dgi_group_claim *claim,
			       dg_error *err)
{
	dg_status st;

	*claim = (struct dgi_group_claim){ .pid = getpid() };
	st = copy_name("group", options->name, "default", claim->group, err);
	if (!st)
		st = copy_name("role", options->role, "trainer", claim->role, err);
	if (!st)
		st = take_numbers(options, claim, err);
	if (!st)
		st = dgi_uuid_new(&claim->id, err);
	if (gethostname(claim->host, sizeof claim->host - 1) != 0)
		memset(claim->host, 0, sizeof claim->host);
	return st;
}
