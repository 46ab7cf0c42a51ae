/*
 * channel.h -- a client's traffic with the server of one partition: requests under way, those that
 * wait, the session of its pushes, and the connection, which is made again when it is lost.
 *
 * A lost connection is nobody's failure while there is time: what was under way is asked again on the
 * next one. A server never met before is another matter: that nobody listens is told at once.
 *
 * Nothing here waits but dgi_channel_send(), when it connects.
 */
#ifndef DGI_CHANNEL_H
#define DGI_CHANNEL_H

#include "link.h"
#include "piece.h"

struct dgi_channel {
	struct dgi_link link;
	struct dgi_client_session session;
	struct dgi_piece *waiting, *waiting_last; /* pulls and calls to be sent */
	struct dgi_piece *sent;			  /* and not answered; of any kind */
	size_t n_sent;
	uint64_t reply_bytes; /* that those sent will be answered with */
	uint64_t kept_bytes;  /* of pushes that are not known to be on disk */
	uint64_t n_unsettled; /* pushes somebody waits for */
	/* Of losing connections: */
	int64_t retry_at_ms; /* connect again then; 0: at once */
	uint32_t retry_ms;   /* the pause after the next failure */
	int64_t push_at_ms;  /* a push that a full server did not take goes again then */
	/* Of silence: */
	int64_t owed_ms;   /* since when something was sent and not answered */
	int64_t pinged_ms; /* when the server was asked last whether it is there */
	bool is_pinged;	   /* and has not answered yet */
	unsigned n_broken; /* connections in a row that ended with nonsense */
	dg_status lost_status;
	dg_error lost; /* why there is no connection */
};

/* @link is set but for its connection; moved. Fails with IO (random numbers). */
dg_status dgi_channel_init(struct dgi_channel *channel, const struct dgi_link *link, dg_error *err);
/* Takes leave of the server, if one is connected and all is on its disk; frees what is left. */
void dgi_channel_clear(struct dgi_channel *channel);

/* Takes @piece, which is to be sent when it may. */
void dgi_channel_add(struct dgi_channel *channel, struct dgi_piece *piece);
/* Has it anything to send, or to be answered? */
bool dgi_channel_is_busy(const struct dgi_channel *channel);

/* Connects for the first time, which tells the server's limits; a failure is noted for later. */
bool dgi_channel_meet(struct dgi_channel *channel, struct dgi_deadline deadline);

/*
 * Connects, if need be and if it is time, until @deadline at most, and sends what may be sent. What
 * cannot be done at all settles requests with why.
 */
void dgi_channel_send(struct dgi_channel *channel, struct dgi_deadline deadline);
/* Takes the answers that have arrived. @moved: how the connection fared since it was sent to. */
void dgi_channel_take(struct dgi_channel *channel, dg_status moved, const dg_error *error);
/* When it wants dgi_channel_send() without any news; INT64_MAX: not. */
int64_t dgi_channel_wakes_ms(const struct dgi_channel *channel);

/* Nobody waits for @request any more: its memory is not touched again. Its pushes are still kept. */
void dgi_channel_abandon(struct dgi_channel *channel, const struct dg_request *request);
/* Has it a piece of @request? */
bool dgi_channel_has(const struct dgi_channel *channel, const struct dg_request *request);

#endif
