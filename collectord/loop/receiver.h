/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Descriptors that strangers pass are received, looked at and closed by a process that may be lost:
 * the last close of one may wait for its sender for ever (a socket that lingers, a file of its
 * sender's own file system), even past SIGKILL. Only a recorder, which is shared memory and waits
 * for nobody, comes further. The process takes one connection after another until one has brought
 * something else; it says so, closes that, and ends, and the next connection has another process.
 * Loop thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Processes that do not end since what they have taken is not closed: half of what the others leave
 * is one user's. The unit's TasksMax= has room for them, the next one, and the one that closes
 * connections. */
#define RECEIVER_LEAVING_MAX 32u
/* Connections that wait to be closed: more than may come in a burst and in two seconds. */
#define RECEIVER_PARKED_MAX  8192u

struct event;
struct event_base;

struct receiver {
	bool is_trusting;    /* all that come are one user's: that is done in this process */
	struct event *timer; /* while anything is to be closed */
	int channel;	     /* of the process that takes; -1: there is none */
	pid_t pid;
	uint64_t used_ns; /* CLOCK_MONOTONIC */
	struct receiver_leaving {
		pid_t pid;
		uid_t owner;
	} leaving[RECEIVER_LEAVING_MAX];
	unsigned n_leaving;
	int parked[RECEIVER_PARKED_MAX];
	unsigned n_parked;
	pid_t closer;	    /* has what was parked; 0: there is none */
	uint64_t closer_ns; /* CLOCK_MONOTONIC: since when */
};

void receiver_init(struct receiver *receiver, bool is_trusting);
/* -ENOMEM. */
int receiver_watch(struct receiver *receiver, struct event_base *base);

/* What is to be closed yet is left to a process: this one may end. */
void receiver_done(struct receiver *receiver);

/*
 * As recv(@connection, @at, @bytes, MSG_DONTWAIT), of one that may not have brought descriptors;
 * those that it has are no part of it: -EBADMSG, nothing is read.
 */
ssize_t receiver_read(int connection, void *at, size_t bytes);

/*
 * The same, with what it has passed: @ret_passed counts those, and *@ret_recorder is the one that
 * came, if it is a sealed memfd (whose size, and what it holds, was not looked at), else -1.
 * -EBUSY: too many processes are busy closing what @owner has sent; -EIO: the connection is to be
 * closed.
 */
ssize_t receiver_take(struct receiver *receiver, uid_t owner, int connection, void *at,
	size_t bytes, int *ret_recorder, unsigned *ret_passed);

/* Closes it, whatever lies in it unread. */
void receiver_drop(struct receiver *receiver, int connection);
