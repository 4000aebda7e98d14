/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Messages between the processes of the service: the supervisor, its workers (one a tenant), its
 * acceptors and the index writer. A channel is a pair of SOCK_SEQPACKET sockets: a message arrives
 * whole, or not at all. None of these functions waits. Any thread; one of them receives.
 */
#include <stdint.h>
#include <sys/types.h>

#define CHANNEL_NAME_BYTES 128u

/* Each names its sender, and what goes along. "round" and "number" are .number. */
enum channel_kind {
	/* Worker to supervisor. */
	CHANNEL_READY = 1, /* all that was left open is known: connections are taken */
	CHANNEL_KEEP,	   /* name, descriptor: keep it beyond my life */
	CHANNEL_DROP,	   /* name: no longer */
	CHANNEL_SETTLE,	   /* number: say so when what has connected before now is in the door */
	CHANNEL_ASK_ALL,   /* number: a connection to each worker */
	CHANNEL_GIVE_BACK, /* owner, number: that tenant has most (1: and others need room now); to
			    * its worker, the same */
	CHANNEL_MAY_GO,	   /* nothing is open here */
	CHANNEL_STAY,	   /* after CHANNEL_GO: somebody has come meanwhile */

	/* Worker to supervisor, which passes it on to the index writer. */
	CHANNEL_INDEXED, /* owner, name: its index says something else of that database (relative to
			  * the store); no name: perhaps of all */

	/* Supervisor to worker. */
	CHANNEL_STOP,	       /* commit everything and end; so does the end of the channel */
	CHANNEL_SETTLED,       /* number */
	CHANNEL_GO,	       /* nobody will put anything into the door any more */
	CHANNEL_QUESTION,      /* descriptor: a tool that may see all is at its other end; to the
				* index writer with a number: closed since then, CLOCK_REALTIME */
	CHANNEL_ANSWERER,      /* number, owner, descriptor: ask there */
	CHANNEL_NODE_ANSWERER, /* number, descriptor: what the node's index says of sessions comes
				* there unasked */
	CHANNEL_ANSWERERS_END, /* number; in owner how many CHANNEL_ANSWERER should have come */

	/* Acceptor to supervisor. */
	CHANNEL_WANT_DOOR, /* owner */
	CHANNEL_CLOSING,   /* what follows may hang */
	CHANNEL_CLOSED,	   /* it did not */
	CHANNEL_ACCEPTED,  /* owner, round: what of it had connected then is in its door */

	/* Supervisor to acceptor. */
	CHANNEL_DOOR,	 /* owner, descriptor */
	CHANNEL_NO_DOOR, /* owner: what comes for it is closed */
	CHANNEL_ACCEPT,	 /* owner, round: say CHANNEL_ACCEPTED */
	CHANNEL_FORGET,	 /* owner, round: the same, and drop its door */

	/* Acceptor to worker, through its door. */
	CHANNEL_CONNECTION, /* descriptor */

	CHANNEL_KINDS
};

struct channel_message {
	uint32_t kind;
	uint32_t owner; /* of a tenant: subuids_owner() */
	uint64_t number;
	char name[CHANNEL_NAME_BYTES]; /* ends with a NUL */
};

/* Two ends, closed on exec, neither of which waits. 0 or -errno. */
int channel_pair(int ret[2]);

/*
 * @fd, unless it is -1, goes along and stays the caller's. 0; -EAGAIN: not read as fast as it is
 * written, or the kernel is short of something; -EPIPE: the other end is gone.
 */
int channel_send(int channel, const struct channel_message *message, int fd);

/*
 * 1: a message, *ret_fd is what came along, or -1; 0: the other end is closed; -EAGAIN: there is
 * none; -EBADMSG: that is no message; -EMFILE: its descriptor found no place and is lost.
 */
int channel_receive(int channel, struct channel_message *ret, int *ret_fd);
