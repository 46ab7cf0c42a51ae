/* processes.c -- servers as real processes, and a cluster for them. */
#include "processes.h"

#include "deadline.h"
#include "test.h"
#include "tmpdir.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 20000, ARGUMENTS_MAX = 16 };

void process_start_program(struct process *process, const char *program,
			   const char *const *arguments)
{
	char *argv[ARGUMENTS_MAX] = { NULL };
	int out[2], in[2];

	assert_non_null(program);
	argv[0] = strdup(program);
	for (size_t i = 0; arguments[i] && i + 2 < ARGUMENTS_MAX; i++)
		argv[i + 1] = strdup(arguments[i]);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	process->pid = fork();
	assert_true(process->pid >= 0);
	if (!process->pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execv(program, argv);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	process->in = in[1];
	process->out = out[0];
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
}

void process_start(struct process *process, const char *const *arguments)
{
	process_start_program(process, getenv("DISTGRAPH"), arguments);
}

void process_read_line(const struct process *process, char *line, size_t size)
{
	struct dgi_deadline deadline = dgi_deadline_in(WAIT_MS);
	struct pollfd fd = { .fd = process->out, .events = POLLIN };
	size_t n = 0;

	while (n + 1 < size) {
		if (poll(&fd, 1, dgi_deadline_left_ms(deadline)) != 1)
			fail_msg("process %d printed no line in time", (int)process->pid);
		if (read(process->out, line + n, 1) != 1)
			fail_msg("process %d ended without a line", (int)process->pid);
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
}

void process_write_line(const struct process *process, const char *line)
{
	assert_true(dprintf(process->in, "%s\n", line) > 0);
}

void process_close_input(struct process *process)
{
	if (process->in >= 0)
		(void)close(process->in);
	process->in = -1;
}

void process_signal(const struct process *process, int number)
{
	assert_int_equal(kill(process->pid, number), 0);
}

int process_wait(struct process *process)
{
	struct dgi_deadline deadline = dgi_deadline_in(WAIT_MS);
	int status = 0;

	while (waitpid(process->pid, &status, WNOHANG) == 0) {
		if (dgi_deadline_passed(deadline)) {
			(void)kill(process->pid, SIGKILL);
			fail_msg("process %d does not end", (int)process->pid);
		}
		dgi_sleep_ms(1);
	}
	process_close_input(process);
	(void)close(process->out);
	process->pid = 0;
	return status;
}

void server_start_at(struct process *process, const char *cluster, uint32_t part,
		     const char *listen)
{
	char part_text[16], line[DG_PATH_BYTES_MAX], wanted[32];

	(void)snprintf(part_text, sizeof part_text, "%" PRIu32, part);
	process_start(process, (const char *const[]){ "serve", cluster, "--part", part_text,
						      listen ? "--listen" : NULL, listen, NULL });
	process_read_line(process, line, sizeof line);
	(void)snprintf(wanted, sizeof wanted, "part %" PRIu32 " of ", part);
	assert_non_null(strstr(line, wanted));
}

void server_start(struct process *process, const char *cluster, uint32_t part)
{
	server_start_at(process, cluster, part, NULL);
}

static char *write_ring(const char *dir, int64_t n_nodes)
{
	char *path = tmpdir_path(dir, "ring.csv");
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	for (int64_t i = 0; i < n_nodes; i++)
		fprintf(file, "%" PRId64 ",%" PRId64 "\n", i, (i + 1) % n_nodes);
	assert_int_equal(fclose(file), 0);
	return path;
}

static char *write_zeros(const char *dir, int64_t n_nodes, int64_t width)
{
	char *path = tmpdir_path(dir, "feat.npy");
	const int64_t shape[2] = { n_nodes, width };
	size_t bytes = (size_t)(n_nodes * width) * sizeof(float);
	void *zeros = calloc(1, bytes);
	dg_array_writer *writer;
	dg_error err = { 0 };

	assert_ok(dg_array_writer_open(path, DG_FLOAT32, 2, shape, &writer, &err), &err);
	assert_ok(dg_array_writer_append(writer, zeros, bytes, &err), &err);
	assert_ok(dg_array_writer_close(writer, 1, &err), &err);
	free(zeros);
	return path;
}

char *cluster_make(const char *dir, const char *name, int64_t n_nodes, uint32_t n_parts,
		   int64_t width)
{
	char *edges = write_ring(dir, n_nodes), *feat = write_zeros(dir, n_nodes, width);
	char *output = tmpdir_path(dir, name);
	const dg_input_edges paths[] = { { .path = edges } };
	const dg_input_data data = { .name = "feat", .path = feat };
	const dg_partition_options options = {
		.input = { .edges = paths, .n_edges = 1, .node_data = &data, .n_node_data = 1 },
		.n_parts = n_parts,
		.output = output,
		.method = "random"
	};
	dg_partition_report report;
	dg_error err = { 0 };

	assert_ok(dg_partition(&options, &report, &err), &err);
	free(edges);
	free(feat);
	free(output);
	return strdup(report.cluster_path);
}
