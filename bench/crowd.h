/* crowd.h -- many clients that are of no use to a server, in a process of their own. */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "cluster.h"

enum crowd_manner {
	CROWD_IDLE, /* says hello, then nothing */
	CROWD_SLOW, /* sends a push byte by byte, one every 100 ms */
	CROWD_DEAF, /* pulls rows and never reads an answer */
};

struct crowd {
	pid_t pid;
};

/* Connects @n clients, each of which has been welcomed when this returns. */
void crowd_start(struct crowd *crowd, const struct bench_server *server, enum crowd_manner manner,
		 size_t n);
/* They are gone, for the server too, when this returns. */
void crowd_stop(struct crowd *crowd, const struct bench_server *server);

#endif
