/* processes.h -- servers as real processes, and a cluster for them. The program is $DISTGRAPH. */
#ifndef DGI_PROCESSES_H
#define DGI_PROCESSES_H

#include <distgraph/distgraph.h>

#include <sys/types.h>

struct process {
	pid_t pid; /* 0: not running */
	int in;	   /* its stdin; -1 once closed */
	int out;   /* what it prints on stdout */
};

/* Runs `distgraph <arguments…>`; ends the test where that fails. The list ends in NULL. */
void process_start(struct process *process, const char *const *arguments);
/* The same with another program. */
void process_start_program(struct process *process, const char *program,
			   const char *const *arguments);
/* Reads a line that the process prints, at most 20 s; ends the test where none comes. */
void process_read_line(const struct process *process, char *line, size_t size);
void process_write_line(const struct process *process, const char *line);
void process_close_input(struct process *process);
void process_signal(const struct process *process, int number);
/* Waits for the end, at most 20 s; returns the wait status. */
int process_wait(struct process *process);

/* Starts the server of @part, listening at @listen, and returns when it is ready. */
void server_start_at(struct process *process, const char *cluster, uint32_t part,
		     const char *listen);
/* … at its default address. */
void server_start(struct process *process, const char *cluster, uint32_t part);

/*
 * Makes a ring of @n_nodes nodes in @n_parts parts below @dir, with the node tensor "feat",
 * float32 (n_nodes, @width), all zero. Gives the path of the cluster file, to be freed.
 */
char *cluster_make(const char *dir, const char *name, int64_t n_nodes, uint32_t n_parts,
		   int64_t width);

#endif
