/* holder.c -- which process listens on a TCP port, as far as /proc lets us see. */
#include "holder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TCP_LISTEN_STATE 0x0a

void dgi_process_text(pid_t pid, char *out, size_t room)
{
	char path[64], name[32] = "?";
	FILE *f;

	if (pid <= 0) {
		(void)snprintf(out, room, "an unknown process");
		return;
	}
	(void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof name, f))
			name[strcspn(name, "\n")] = '\0';
		(void)fclose(f);
	}
	(void)snprintf(out, room, "process %ld (%s)", (long)pid, name);
}

/* The inode of the socket that listens on @port, from a table such as /proc/net/tcp; or 0. */
static unsigned long listener_inode(const char *table, uint16_t port)
{
	unsigned long found = 0;
	char line[512];
	FILE *f = fopen(table, "re");

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof line, f)) {
		unsigned local_port, state;
		unsigned long inode;

		if (sscanf(line, " %*d: %*[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu", &local_port,
			   &state, &inode) == 3 &&
		    local_port == port && state == TCP_LISTEN_STATE)
			found = inode;
	}
	(void)fclose(f);
	return found;
}

static int process_has_socket(const char *pid, unsigned long inode)
{
	char directory[64], wanted[64];
	struct dirent *entry;
	int found = 0;
	DIR *d;

	(void)snprintf(directory, sizeof directory, "/proc/%.20s/fd", pid);
	(void)snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
	d = opendir(directory);
	if (!d)
		return 0;
	while (!found && (entry = readdir(d))) {
		char target[64];
		ssize_t n = readlinkat(dirfd(d), entry->d_name, target, sizeof target - 1);

		if (n > 0) {
			target[n] = '\0';
			found = strcmp(target, wanted) == 0;
		}
	}
	(void)closedir(d);
	return found;
}

pid_t dgi_port_holder(uint16_t port)
{
	unsigned long inode = listener_inode("/proc/net/tcp", port);
	struct dirent *entry;
	pid_t pid = 0;
	DIR *d;

	if (!inode)
		inode = listener_inode("/proc/net/tcp6", port);
	d = inode ? opendir("/proc") : NULL;
	if (!d)
		return 0;
	while (!pid && (entry = readdir(d)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    process_has_socket(entry->d_name, inode))
			pid = (pid_t)strtol(entry->d_name, NULL, 10);
	(void)closedir(d);
	return pid;
}
