/* progress.c -- tell the caller how far long work is, and hear whether to go on. */
#include "progress.h"

#include "fail.h"

static dg_status tell(const struct dgi_progress *progress, dg_error *err)
{
	if (progress->fn &&
	    progress->fn(progress->context, progress->phase, progress->done, progress->total))
		return dgi_fail(err, DG_CANCELLED, "cancelled during '%s'", progress->phase);
	return DG_OK;
}

dg_status dgi_progress_begin(struct dgi_progress *progress, const char *phase, uint64_t total,
			     dg_error *err)
{
	progress->phase = phase;
	progress->done = 0;
	progress->total = total;
	return tell(progress, err);
}

dg_status dgi_progress_add(struct dgi_progress *progress, uint64_t more, dg_error *err)
{
	if (!progress)
		return DG_OK;
	progress->done += more;
	if (progress->total && progress->done > progress->total)
		progress->done = progress->total; /* an input that grew */
	return tell(progress, err);
}

dg_status dgi_progress_end(struct dgi_progress *progress, dg_error *err)
{
	if (progress->total == 0)
		progress->total = progress->done ? progress->done : 1;
	progress->done = progress->total;
	return tell(progress, err);
}
