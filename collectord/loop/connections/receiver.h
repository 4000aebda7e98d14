/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Receives, checks and closes the descriptors that peers pass, in a separate process that the
 * collector can afford to lose. The last close of a descriptor may block for ever (a socket that
 * lingers, a file on a FUSE file system of its sender), even past SIGKILL. Only a recorder, which
 * is shared memory and never blocks, is passed on to the collector. The process handles one
 * connection after another until one has passed something else: it reports that, closes the
 * descriptor and ends, and the next connection gets a new process. Loop thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Number of processes that have not ended yet, because they are closing what they received.
 * TasksMax= of the unit has room for them, for the current process, and for the one that closes
 * connections.
 */
#define RECEIVER_LEAVING_MAX 16u
/*
 * Number of connections that may wait to be closed: more than arrive in a burst
 * (CONNECTS_BURST_MAX) and in two seconds.
 */
#define RECEIVER_PARKED_MAX  2560u

struct event;
struct event_base;

struct receiver {
	bool is_trusting;    /* all peers belong to one user, so no separate process is used */
	struct event *timer; /* armed while anything is left to close */
	int channel;	     /* to the process that receives; -1: there is none */
	pid_t pid;
	uint64_t used_ns; /* CLOCK_MONOTONIC */
	pid_t leaving[RECEIVER_LEAVING_MAX];
	unsigned n_leaving;
	int parked[RECEIVER_PARKED_MAX];
	unsigned n_parked;
	pid_t closer;	    /* the process that closes parked connections; 0: there is none */
	uint64_t closer_ns; /* CLOCK_MONOTONIC of its start */
};

void receiver_init(struct receiver *receiver, bool is_trusting);
/* -ENOMEM. */
int receiver_watch(struct receiver *receiver, struct event_base *base);

/* Leaves open connections to a process that closes them: the collector may end. */
void receiver_done(struct receiver *receiver);

/*
 * As recv(@connection, @at, @bytes, MSG_DONTWAIT) on a connection that should pass no descriptors.
 * If it has passed some, returns -EBADMSG and reads nothing.
 */
ssize_t receiver_read(int connection, void *at, size_t bytes);

/*
 * The same, with the descriptors passed: *@ret_passed is their number, and *@ret_recorder is the
 * one that came if it is a sealed memfd, else -1. Its size and contents are not checked. -EBUSY:
 * too many processes are busy closing what was sent before; -EIO: the caller must close the
 * connection.
 */
ssize_t receiver_take(struct receiver *receiver, int connection, void *at, size_t bytes,
	int *ret_recorder, unsigned *ret_passed);

/* Closes the connection, whatever is unread in it. */
void receiver_drop(struct receiver *receiver, int connection);

/*
 * Checks that @fd is a sealed memfd. Never blocks, whatever kind of file @fd is. Returns NULL if it
 * is one, else the reason why not.
 */
const char *receiver_check_memfd(int fd);
