/* network.h -- a chaos_proxy as a process, driven by a test. The program is $CHAOS_PROXY. */
#ifndef CHAOS_NETWORK_H
#define CHAOS_NETWORK_H

#include "processes.h"

struct network {
	struct process process;
	char address[DG_PATH_BYTES_MAX]; /* where it listens */
};

/*
 * Starts a proxy from @listen ("127.0.0.1:0", "unix:/path") to @target, with further @options up
 * to NULL; ends the test where that fails.
 */
void network_start(struct network *network, const char *listen, const char *target,
		   const char *const *options);
/* Gives a command (proxy.c); returns the number of connections there were. */
size_t network_command(const struct network *network, const char *command);
/* Ends it; @counts of @size bytes gets its line of faults. */
void network_stop(struct network *network, char *counts, size_t size);

/* A TCP address of the loopback, "127.0.0.1:PORT", that nobody listens at. */
void network_free_address(char *out, size_t size);

#endif
