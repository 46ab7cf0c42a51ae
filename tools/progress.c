/* progress.c -- draw the bar, with rate and time left. */
#include "progress.h"

#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 24, REDRAW_MS = 100 };

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

void progress_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

struct progress progress_of(bool verbose)
{
	return (struct progress){ .terminal = isatty(STDERR_FILENO), .verbose = verbose };
}

void progress_end(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}

static void begin_phase(struct progress *progress, const char *phase, uint64_t done)
{
	(void)snprintf(progress->phase, sizeof progress->phase, "%s", phase);
	progress->began_ms = now_ms();
	progress->began_done = done;
	progress->drawn_ms = 0;
	if (progress->verbose && !progress->terminal)
		remark("%s", phase);
}

/* A count in few characters: 950, 12.3k, 4.5M, … */
static void print_count(double count)
{
	static const char *const units[] = { "", "k", "M", "G", "T" };
	size_t unit = 0;

	while (count >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
		count /= 1000;
		unit++;
	}
	fprintf(stderr, unit ? "%.1f%s" : "%.0f%s", count, units[unit]);
}

static void draw_bar(double part)
{
	char bar[BAR_WIDTH + 1];
	size_t full = (size_t)(part * BAR_WIDTH);

	memset(bar, '.', BAR_WIDTH);
	memset(bar, '#', full);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, " [%s] %3.0f %%", bar, part * 100);
}

static void draw(const struct progress *progress, uint64_t done, uint64_t total, double seconds)
{
	uint64_t since = done > progress->began_done ? done - progress->began_done : 0;
	double rate = seconds > 0 ? (double)since / seconds : 0;

	fprintf(stderr, "\r\033[K%-12s", progress->phase);
	if (total)
		draw_bar(done < total ? (double)done / (double)total : 1);
	fputc(' ', stderr);
	print_count((double)done);
	if (rate > 0) {
		fputs(", ", stderr);
		print_count(rate);
		fputs("/s", stderr);
	}
	if (rate > 0 && total > done)
		fprintf(stderr, ", %.0f s left", (double)(total - done) / rate);
}

int progress_update(void *context, const char *phase, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	int64_t now = now_ms();

	if (strncmp(progress->phase, phase, sizeof progress->phase - 1) != 0)
		begin_phase(progress, phase, done);
	if (progress->terminal && now - progress->drawn_ms >= REDRAW_MS) {
		draw(progress, done, total, (double)(now - progress->began_ms) / 1000);
		progress->drawn = true;
		progress->drawn_ms = now;
	}
	return interrupted;
}
