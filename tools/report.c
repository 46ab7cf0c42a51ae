/* report.c -- complaints and remarks on stderr, JSON on stdout. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

/* One call of stdio a line, so that lines of several processes do not mix. */
static void say(const char *format, va_list args)
{
	char text[2 * DG_ERROR_TEXT_BYTES + DG_KEY_TEXT_BYTES];

	(void)vsnprintf(text, sizeof text, format, args);
	fprintf(stderr, "distgraph: %s\n", text);
}

int report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return EXIT_FAILED;
}

int report_error(const dg_error *err)
{
	return report("%s", err->text);
}

void remark(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

dg_status fail(dg_error *err, dg_status status, const char *format, ...)
{
	va_list args;

	err->status = status;
	va_start(args, format);
	(void)vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return status;
}

int report_json(json_t *value)
{
	int code = EXIT_DONE;

	if (!value || json_dumpf(value, stdout, JSON_INDENT(2)))
		code = report("out of memory");
	else
		putchar('\n');
	json_decref(value);
	return code;
}

void report_log(void *context, dg_log_level level, const char *text)
{
	static const char *const names[] = { "error: ", "warning: ", "", "debug: " };

	(void)context;
	remark("%s%s", names[level], text);
}

void uuid_text(const dg_uuid *uuid, char out[DG_UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char *to = out;

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[uuid->bytes[i] >> 4];
		*to++ = digits[uuid->bytes[i] & 15];
	}
	*to = '\0';
}

int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
