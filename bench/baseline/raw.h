/*
 * raw.h -- baseline of the wire: the plainest request/response program by epoll that moves so many
 * bytes each way, without looking at them. One thread serves, one asks; sockets are tuned as ours.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct raw {
	pid_t server;
	int fd;	   /* of the client's socket */
	int epoll; /* of the client */
	uint8_t *request;
};

/*
 * Starts the server as a process of its own and connects to it. To be called while this process has
 * one thread. The server dies with this process.
 */
void raw_start(struct raw *raw, bool tcp);
void raw_stop(struct raw *raw);

/*
 * Sends @n requests of @request_bytes, at most @in_flight ahead of their replies of @reply_bytes,
 * which go to @out one behind the other; it has room for @in_flight of them and is used again. The
 * server sends from memory that is warm, 64 KiB at a time: the fastest way found.
 */
void raw_ask(struct raw *raw, size_t n, size_t in_flight, size_t request_bytes, size_t reply_bytes,
	     uint8_t *out);

#endif
