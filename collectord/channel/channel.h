/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Messages between the processes of the service: the supervisor, its workers (one for each tenant),
 * its acceptors and the index writer. A channel is a pair of SOCK_SEQPACKET sockets: a message
 * arrives whole or not at all. No function here blocks. Any thread may send; one thread receives.
 */
#include <stdint.h>
#include <sys/types.h>

#define CHANNEL_NAME_BYTES 128u

/*
 * The groups name the sender; each comment lists the fields in use. "round" and "number" are
 * .number.
 */
enum channel_kind {
	/* Worker to supervisor. */
	CHANNEL_READY = 1, /* name: its container, or none; every session left open is known:
			    * connections are taken */
	CHANNEL_KEEP,	   /* name, descriptor: keep the recorder beyond the life of the worker */
	CHANNEL_DROP,	   /* name: drop it */
	CHANNEL_SETTLE,	   /* number: answer when every connection made before now is in the door */
	CHANNEL_ASK_ALL,   /* number: connect me with each worker */
	CHANNEL_GIVE_BACK, /* owner, number: that tenant uses most space (1: others need room
			    * now); forwarded to its worker */
	CHANNEL_MAY_GO,	   /* the worker is idle */
	CHANNEL_STAY,	   /* after CHANNEL_GO: a connection has arrived meanwhile */

	/* Worker to supervisor, which forwards it to the index writer. */
	CHANNEL_INDEXED, /* owner, name: its index has changed for that database (relative to the
			  * store); without a name, perhaps for any */

	/* Supervisor to worker. */
	CHANNEL_STOP,	       /* commit everything and end; the end of the channel means the
				* same */
	CHANNEL_RELOAD,	       /* read the configuration again */
	CHANNEL_SETTLED,       /* number: the answer to CHANNEL_SETTLE */
	CHANNEL_GO,	       /* no acceptor puts anything into the door any more */
	CHANNEL_QUESTION,      /* descriptor: serve a tool that may see all at its other end; to
				* the index writer with a number: include sessions closed since
				* then, CLOCK_REALTIME */
	CHANNEL_ANSWERER,      /* number, owner, name of its container, descriptor: send the
				* request there */
	CHANNEL_NODE_ANSWERER, /* number, descriptor: the index of the node sends its reply
				* there, without a request */
	CHANNEL_ANSWERERS_END, /* number; owner is the number of CHANNEL_ANSWERER that should
				* have come */

	/* Acceptor to supervisor. */
	CHANNEL_WANT_DOOR, /* owner, name of its container */
	CHANNEL_CLOSING,   /* the next close may hang */
	CHANNEL_CLOSED,	   /* it did not hang */
	CHANNEL_ACCEPTED,  /* owner, round: every connection of it made before the round is in
			    * its door */

	/* Supervisor to acceptor. */
	CHANNEL_DOOR,	 /* owner, descriptor */
	CHANNEL_NO_DOOR, /* owner: close its connections */
	CHANNEL_ACCEPT,	 /* owner, round: answer with CHANNEL_ACCEPTED */
	CHANNEL_FORGET,	 /* owner, round: the same, and close its door */

	/* Acceptor to worker, through its door. */
	CHANNEL_CONNECTION, /* descriptor; name: the container of its peer, or none; number:
			     * enum channel_peer */

	CHANNEL_KINDS
};

/* What the acceptor knows of a peer. */
enum channel_peer {
	CHANNEL_PEER_KNOWN = 1,	   /* its container, or that it has none */
	CHANNEL_PEER_OF_HOST = 2,  /* it has none, and its pid namespace is ours */
	CHANNEL_PEER_IN_DOUBT = 4, /* not known, and there are containers on this node */
};

struct channel_message {
	uint32_t kind;
	uint32_t owner; /* of the tenant: subuids_owner(), or container_tenant() */
	uint64_t number;
	char name[CHANNEL_NAME_BYTES]; /* ends with a NUL */
};

/* Makes a channel: both ends are closed on exec and do not block. Returns 0 or -errno. */
int channel_pair(int ret[2]);

/*
 * The same for connections of a tenant that its worker has not taken yet. At most
 * CHANNEL_DOOR_CONNECTIONS fit, whatever the kernel counts a message as: of all descriptors that
 * lie in sockets a user may have sent no more than its limit of descriptors (unix(7),
 * ETOOMANYREFS), and all doors are of one user.
 */
#define CHANNEL_DOOR_CONNECTIONS 60u
int channel_door(int ret[2]);

/*
 * Sends @message, with @fd unless it is -1; the caller keeps @fd. Returns 0; -EAGAIN: the receiver
 * reads too slowly, or the kernel is short of a resource; -EPIPE: the other end is gone.
 */
int channel_send(int channel, const struct channel_message *message, int fd);

/*
 * Returns 1: a message, with the descriptor *ret_fd or -1; 0: the other end is closed; -EAGAIN:
 * there is none now; -EBADMSG: it is not a valid message; -EMFILE: its descriptor did not fit and
 * is lost, or it has several, which no message of ours has.
 */
int channel_receive(int channel, struct channel_message *ret, int *ret_fd);
