/* fail.c -- fill in a dg_error, and put context in front of it on the way up. */
#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_texts[] = {
#define STATUS_TEXT(name, number, text) [number] = text,
	DG_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
};

const char *dg_status_text(dg_status status)
{
	size_t number = (size_t)status;

	if (number >= sizeof status_texts / sizeof status_texts[0] || !status_texts[number])
		return "unknown status";
	return status_texts[number];
}

/* Messages are one line of printable text: what came from outside must not break a log. */
static void make_one_line(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static void append(char *to, size_t room, const char *text)
{
	size_t used = strnlen(to, room - 1);
	size_t n = strnlen(text, room - 1 - used);

	memcpy(to + used, text, n);
	to[used + n] = '\0';
}

dg_status dgi_fail(dg_error *err, dg_status status, const char *format, ...)
{
	va_list args;

	if (!err)
		return status;
	err->status = status;
	va_start(args, format);
	(void)vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	make_one_line(err->text);
	return status;
}

dg_status dgi_context(dg_error *err, dg_status status, const char *format, ...)
{
	char text[DG_ERROR_TEXT_BYTES];
	va_list args;

	if (!err)
		return status;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	make_one_line(text);
	append(text, sizeof text, ": ");
	append(text, sizeof text, err->text);
	memcpy(err->text, text, sizeof text);
	err->status = status;
	return status;
}

dg_status dgi_status_of_errno(int error_number)
{
	switch (error_number) {
	case 0:
		return DG_OK;
	case ENOMEM:
		return DG_NOMEM;
	case ENOENT:
	case ENOTDIR:
		return DG_NOTFOUND;
	case EEXIST:
	case ENOTEMPTY:
		return DG_EXISTS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return DG_FULL;
	case EACCES:
	case EPERM:
	case EROFS:
	case ELOOP:
		return DG_DENIED;
	case EADDRINUSE:
	case EBUSY:
		return DG_BUSY;
	case ETIMEDOUT:
		return DG_TIMEOUT;
	case ECONNREFUSED:
	case ECONNRESET:
	case EPIPE:
	case ENOTCONN:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return DG_CLOSED;
	case EINVAL:
		return DG_INVALID;
	default:
		return DG_IO;
	}
}

dg_status dgi_fail_errno(dg_error *err, int error_number, const char *format, ...)
{
	dg_status status = dgi_status_of_errno(error_number);
	const char *reason;
	va_list args;

	if (!err)
		return status;
	err->status = status;
	va_start(args, format);
	(void)vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	make_one_line(err->text);
	append(err->text, sizeof err->text, ": ");
	reason = strerrordesc_np(error_number);
	append(err->text, sizeof err->text, reason ? reason : "unknown error");
	return status;
}

dg_status dgi_fail_memory(dg_error *err, const char *what)
{
	return dgi_fail(err, DG_NOMEM, "%s: out of memory", what);
}
