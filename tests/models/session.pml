/*
 * A session of pushes (docs/protocol.md, section 5): one client, one server, connections that are lost,
 * a server that is killed. Spin looks at every order of events.
 *
 * Never does a push count twice; what the client believes to be on disk is there, whatever happens
 * afterwards; and the client always comes to its end. Each of these makes one of them fail:
 *
 *	-DMARKS_APART       which numbers were seen does not survive a kill with the effect
 *	-DNO_FENCE          what an older connection left behind is applied after the close
 *	-DTRUST_PROMISES    the client takes an answer for the disk
 *	-DOLD_LOG_NUMBERS   … takes an old incarnation's log numbers for the new one's
 *	-DNO_CHAIN          a push whose predecessor is missing is applied: breaks the order
 */
#ifndef PUSHES
#define PUSHES 3
#endif
#ifndef CONNECTIONS
#define CONNECTIONS 2 /* of the client, one after the other: one more than faults */
#endif

#define PING 100
#define CLOSE 101

#define WAITING 0
#define SENT 1
#define PROMISED 2
#define DONE 3

/* The store. */
byte log[8];		/* numbers of the pushes applied, in order */
byte n_log, n_durable;	/* entries; those on disk */
byte count[PUSHES];	/* times that a push counts */
bool seen[PUSHES];
byte incarnation = 1;

/* Connections, each used once: their messages, and what the server knows of them. */
chan up[CONNECTIONS] = [PUSHES] of { byte, byte };	   /* number, number before */
chan down[CONNECTIONS] = [PUSHES + 1] of { byte, byte, byte }; /* number, log number, durable */
chan jobs = [PUSHES] of { byte, byte };			   /* connection, number */
chan unsynced = [PUSHES] of { byte, byte, byte };	   /* connection, number, log number */
bool alive[CONNECTIONS];
bool taken[CONNECTIONS];
byte last[CONNECTIONS]; /* number + 1 of the push that came last */

/* The client. */
byte state[PUSHES];
byte log_number[PUSHES];
byte now = 0;	       /* its connection */
byte met = 1;	       /* the incarnation */
byte heard = 0;	       /* durable */
byte last_sent = 0;
bool closed = false;

inline answer(connection, number, log_)
{
	if
	:: alive[connection] && len(down[connection]) <= PUSHES ->
		down[connection]!number, log_, n_durable
	:: !(alive[connection] && len(down[connection]) <= PUSHES) -> skip
	fi
}

inline crash()
{
	d_step {
		incarnation++;
		n_log = n_durable;
		i = 0;
		do
		:: i < PUSHES -> count[i] = 0; seen[i] = false; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < n_log ->
			count[log[i]]++;
			assert(count[log[i]] == 1);
#ifndef MARKS_APART
			seen[log[i]] = true;
#endif
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < CONNECTIONS -> alive[i] = false; i++
		:: else -> break
		od;
		do
		:: jobs?_, _
		:: empty(jobs) -> break
		od;
		do
		:: unsynced?_, _, _
		:: empty(unsynced) -> break
		od;
		i = 0;
		do
		:: i < PUSHES -> assert(state[i] != DONE || count[i] == 1); i++
		:: else -> break
		od;
		i = 0
	}
}

/* The writer: a job of connection c. */
inline write(c, number)
{
	if
#ifndef NO_FENCE
	:: taken[c] -> skip /* refused; nobody listens */
#endif
	:: else ->
		if
		:: number == CLOSE ->
			i = 0;
			do
			:: i < PUSHES -> seen[i] = false; i++
			:: else -> break
			od;
			i = 0;
			taken[c] = true;
			answer(c, CLOSE, 0)
		:: number != CLOSE && !seen[number] ->
			log[n_log] = number;
			n_log++;
			count[number]++;
			seen[number] = true;
			assert(count[number] == 1);
			assert(number == 0 || count[number - 1] == 1) /* in order */
		:: else -> skip
		fi;
		if
		:: number == CLOSE -> skip
		:: number != CLOSE -> answer(c, number, n_log) /* `interval` */
		:: number != CLOSE && nfull(unsynced) -> unsynced!c, number, n_log /* `commit` */
		fi
	fi
}

/* A message has come by connection c. */
inline take(c)
{
	up[c]?number, before;
	if
	:: !alive[c] -> skip
	:: alive[c] && number == PING -> answer(c, PING, 0)
	:: alive[c] && number == CLOSE -> jobs!c, CLOSE
#ifndef NO_CHAIN
	:: alive[c] && number < PUSHES && before != last[c] -> alive[c] = false
	:: alive[c] && number < PUSHES && before == last[c] ->
#else
	:: alive[c] && number < PUSHES ->
#endif
		last[c] = number + 1;
		if
		:: nfull(jobs) -> jobs!c, number
		:: full(jobs) -> alive[c] = false
		fi
	fi;
	number = 0;
	before = 0
}

active proctype server()
{
	byte number, before, c, l, i;
end:
	do
	:: atomic { nempty(up[0]) -> take(0) }
	:: atomic { nempty(up[1]) && nfull(jobs) -> take(1) }
#if CONNECTIONS > 2
	:: atomic { nempty(up[2]) && nfull(jobs) -> take(2) }
#endif
	:: atomic { jobs?c, number -> write(c, number); c = 0; number = 0 }
	:: atomic { n_durable < n_log -> n_durable = n_log }
	:: atomic {
		nempty(unsynced) && n_durable == n_log ->
		unsynced?c, number, l;
		answer(c, number, l);
		c = 0; number = 0; l = 0
	}
	:: atomic { now < CONNECTIONS - 1 && incarnation <= now + 1 -> crash() } /* one each */
	:: atomic { now < CONNECTIONS - 1 && alive[now] -> alive[now] = false } /* cut */
	:: atomic { now < CONNECTIONS - 1 && nempty(up[now]) -> up[now]?number, before; number = 0; before = 0 } /* lost */
	od
}

inline connect()
{
	d_step {
		taken[now] = true;
		now++;
		alive[now] = true;
		last_sent = 0;
		i = 0;
		do
		:: i < PUSHES ->
			if
			:: state[i] == SENT -> state[i] = WAITING
#ifndef OLD_LOG_NUMBERS
			:: state[i] == PROMISED && met != incarnation -> state[i] = WAITING
#endif
			:: else -> skip
			fi;
			i++
		:: else -> break
		od;
		met = incarnation;
		i = 0
	}
}

inline hear()
{
	down[now]?n, l, d;
	if
	:: d > heard -> heard = d
	:: else -> skip
	fi;
	if
	:: n == CLOSE -> closed = true
	:: n < PUSHES && state[n] == SENT -> state[n] = PROMISED; log_number[n] = l
	:: else -> skip
	fi;
	i = 0;
	do
	:: i < PUSHES ->
		if
#ifdef TRUST_PROMISES
		:: state[i] == PROMISED -> state[i] = DONE
#else
		:: state[i] == PROMISED && log_number[i] <= heard ->
			state[i] = DONE;
			assert(count[i] == 1)
#endif
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	i = 0; n = 0; l = 0; d = 0
}

#define ALL_DONE (state[0] == DONE && state[1] == DONE && state[PUSHES - 1] == DONE)

inline send_next()
{
	i = 0;
	do
	:: i < PUSHES && state[i] != WAITING -> i++
	:: else -> break
	od;
	up[now]!i, last_sent;
	state[i] = SENT;
	last_sent = i + 1;
	i = 0
}

#define ANY_WAITING (state[0] == WAITING || state[1] == WAITING || state[PUSHES - 1] == WAITING)
#define ANY_SENT (state[0] == SENT || state[1] == SENT || state[PUSHES - 1] == SENT)

active proctype client()
{
	byte i, n, l, d;
	bool asked = false;

	alive[0] = true;
	do
	:: atomic { ANY_WAITING && nfull(up[now]) -> send_next() }
	:: atomic { nempty(down[now]) -> hear(); asked = false }
	/* it has seen the connection end, or has lost patience: the server may not know yet */
	:: atomic { now < CONNECTIONS - 1 -> connect(); asked = false }
	/* nothing is under way, and it wants to know what is on disk */
	:: atomic {
		!ANY_WAITING && !ANY_SENT && !ALL_DONE && !asked && nfull(up[now]) ->
		up[now]!PING, 0;
		asked = true
	}
	:: atomic {
		!ANY_WAITING && !ANY_SENT && !ALL_DONE && asked && empty(up[now]) &&
		empty(down[now]) && n_durable == n_log ->
		asked = false
	}
	:: ALL_DONE -> break
	od;
	up[now]!CLOSE, 0;
	do
	:: atomic { nempty(down[now]) -> hear() }
	:: closed -> break
	:: !alive[now] -> break
	od
}
