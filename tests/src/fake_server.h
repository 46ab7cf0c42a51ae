/*
 * fake_server.h -- a server made of one thread and a table in memory, which behaves as badly as a
 * test of the client wants. It speaks the protocol by hand, on blocking sockets.
 */
#ifndef DGI_FAKE_SERVER_H
#define DGI_FAKE_SERVER_H

#include <distgraph/book.h>

#include <pthread.h>
#include <stdatomic.h>

enum fake_manner {
	FAKE_HONEST,
	FAKE_REVERSED,	 /* answers four requests at a time, the last first */
	FAKE_SILENT,	 /* takes rows' requests and never answers */
	FAKE_MUTE_ONCE,	 /* … nor pings, on the first connection */
	FAKE_LOSES_ONCE, /* closes the first connection at its second request for rows */
	FAKE_LOSES,	 /* closes every connection at its first request for rows */
	FAKE_SHORT,	 /* answers one row less than asked */
	FAKE_GARBAGE,	 /* answers bytes that are no frame */
	FAKE_REFUSES,	 /* answers FULL */
	FAKE_TRICKLES,	 /* answers a byte now and then */
};

struct fake_server {
	/* Set before the start. */
	_Atomic enum fake_manner manner; /* may be changed later */
	uint32_t part;
	const dg_book *book;
	const dg_tensor_info *tensors; /* rows of the first are in data */
	size_t n_tensors;
	dg_uuid cluster_uuid;
	dg_uuid store_uuid;
	uint64_t incarnation;
	uint64_t rows_max;

	char address[200]; /* set by the start; a Unix path may be asked for */
	uint8_t *data;	   /* this part's rows */
	_Atomic unsigned n_connections;
	_Atomic unsigned n_requests; /* for rows */
	int listener;
	_Atomic int connection; /* being served; -1: none */
	pthread_t thread;
};

/* Listens at server->address, or at a port of the loopback where that is empty. 0: it runs. */
int fake_server_start(struct fake_server *server);
/* Ends its connection, too. */
void fake_server_stop(struct fake_server *server);

#endif
