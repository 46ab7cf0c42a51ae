/* main.c -- the program `distgraph`: finds the command and runs it. */
#include "cmd.h"
#include "report.h"

#include <distgraph/version.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
	{ "partition", cmd_partition, "cut a graph and write one store per partition" },
	{ "plan", cmd_plan, "tell what cutting a graph will take" },
	{ "serve", cmd_serve, "serve one partition" },
	{ "up", cmd_up, "serve every partition of this machine, until Ctrl-C" },
	{ "stop", cmd_stop, "stop the servers of a cluster" },
	{ "status", cmd_status, "tell how the servers of a cluster, or one, are" },
	{ "pull", cmd_pull, "fetch rows from running servers" },
	{ "push", cmd_push, "set rows on running servers" },
	{ "ls", cmd_ls, "list the tensors of a store or cluster" },
	{ "show", cmd_show, "print rows and statistics of a tensor of a store" },
	{ "export", cmd_export, "write a tensor to a .npy or .csv file" },
	{ "import", cmd_import, "set all rows of a tensor from a .npy file" },
	{ "check", cmd_check, "look for damage in stores" },
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void print_commands(FILE *out)
{
	fputs("usage: distgraph COMMAND …\n\n"
	      "A persistent, distributed graph and tensor store.\n\n"
	      "commands:\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-12s%s\n", commands[i].name, commands[i].summary);
	fputs("\n'distgraph help COMMAND' explains one. Results are on stdout, messages on "
	      "stderr.\n"
	      "Exit status: 0 done or sound, 1 failed, 2 wrong usage, 3 damage found.\n",
	      out);
}

static int run_command(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);

	if (command)
		return command->run(argc, argv);
	fprintf(stderr, "distgraph: unknown command '%s'\nTry 'distgraph help'.\n", argv[0]);
	return EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
	char help[] = "--help";
	char *arguments[] = { NULL, help, NULL };

	if (argc < 2) {
		print_commands(stdout);
		return EXIT_DONE;
	}
	arguments[0] = argv[1];
	return run_command(2, arguments);
}

static int run(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "";

	if (!strcmp(first, "help") || !strcmp(first, "--help") || !strcmp(first, "-h"))
		return run_help(argc - 1, argv + 1);
	if (!strcmp(first, "--version")) {
		printf("distgraph %s\n", dg_version());
		return EXIT_DONE;
	}
	if (argc < 2) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	return run_command(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int code;

	/* A reader that goes away is seen by the write that fails. */
	(void)signal(SIGPIPE, SIG_IGN);
	dg_log_set(report_log, NULL, DG_LOG_WARNING);
	code = run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		/* `distgraph … | head` has all it wants. */
		if (errno == EPIPE)
			return code ? code : EXIT_FAILED;
		return report("standard output: %s", strerror(errno));
	}
	return code;
}
