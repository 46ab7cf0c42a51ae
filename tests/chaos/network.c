/* network.c -- a chaos_proxy as a process, driven by a test. */
#include "network.h"

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 14 };

void network_start(struct network *network, const char *listen, const char *target,
		   const char *const *options)
{
	const char *arguments[ARGUMENTS_MAX + 1] = { listen, target };
	char line[DG_PATH_BYTES_MAX];

	for (size_t i = 0; options && options[i] && i + 2 < ARGUMENTS_MAX; i++)
		arguments[i + 2] = options[i];
	process_start_program(&network->process, getenv("CHAOS_PROXY"), arguments);
	process_read_line(&network->process, line, sizeof line);
	assert_int_equal(sscanf(line, "ready %1000s", network->address), 1);
}

size_t network_command(const struct network *network, const char *command)
{
	char line[100];
	size_t n;

	process_write_line(&network->process, command);
	process_read_line(&network->process, line, sizeof line);
	assert_int_equal(sscanf(line, "ok %zu", &n), 1);
	return n;
}

void network_stop(struct network *network, char *counts, size_t size)
{
	process_close_input(&network->process);
	process_read_line(&network->process, counts, size);
	assert_int_equal(process_wait(&network->process), 0);
}

void network_free_address(char *out, size_t size)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
	(void)snprintf(out, size, "127.0.0.1:%d", ntohs(address.sin_port));
	(void)close(fd);
}
