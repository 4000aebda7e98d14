/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One accepted connection: bytes to whole frames and back, who is at the other end, deadlines
 * and limits. What the frames mean is the role's (shim_peer, runner, tool), given at the first
 * frame. Loop thread only. A peer is freed from the loop, never inside a callback: after
 * peer_close() the pointer stays valid until the loop turns.
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/wire/frame.h"
#include "proto/wire/msg.h"

struct evbuffer;
struct peer;
struct server;

struct peer_role {
	/* One whole frame, without prefix. */
	void (*frame)(struct peer *peer, const uint8_t *frame, size_t bytes);
	/* Or, instead: all that are there, with their prefixes. */
	void (*frames)(struct peer *peer, const uint8_t *frames, size_t bytes);
	/* ... and how much of them is welcome: of hundreds of peers none knows of the others. */
	size_t (*room)(struct peer *peer);
	/* The connection has ended; called once, before the peer is freed. */
	void (*closed)(struct peer *peer);
};

struct peer {
	struct server *server;
	struct peer *previous, *next; /* of the server's list; alone when ended: dead list */
	int fd;
	uid_t uid; /* the kernel's word at connect() */
	uid_t owner; /* whom it counts as where users share something */
	gid_t gid;
	pid_t pid;     /* 0: in a pid namespace we cannot see into */
	int pidfd;     /* -1: none */
	int passed_fd; /* came with the first frame */
	unsigned n_passed;
	struct frame_reader reader;
	struct evbuffer *output;
	struct event *read_event;
	struct event *write_event;
	struct event *deadline;
	const struct peer_role *role; /* NULL: not greeted yet */
	void *role_data;
	bool is_paused;	   /* no reading until peer_resume() */
	bool is_held;	   /* paused until it has read what it was sent */
	bool is_waiting;   /* paused since its user asked too often (request_limits.h) */
	bool is_finishing; /* no reading any more; ends when its output is written */
	bool is_ended;
	bool is_partial; /* the deadline runs for a frame that has begun */
	bool is_question; /* of another worker, whose asker may see all: this tenant's part of it */
	bool has_access, sees_all; /* access.c's: whether it was asked for, and the answer */
};

/* Takes ownership of @fd on success only. -ENOMEM, or what the socket options say. */
int peer_new(struct server *server, int fd, struct peer **ret);

/* Give it a role once its first frame is understood, and what it may send from now on. */
/* Why what a peer says is not taken though it may be right. */
extern const char peer_no_memory[];

void peer_greeted(struct peer *peer, const struct peer_role *role, void *data, size_t limit);

/* Read what is there now, as when the loop finds it readable. */
void peer_read(struct peer *peer);

/* Queue @frame. A peer that does not read its replies is closed. */
void peer_send(struct peer *peer, const Rtl__Frame *frame);

/* Send Refusal with that line, then close. */
void peer_refuse(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Close when everything queued was written. */
void peer_finish(struct peer *peer);

/* Close now. */
void peer_close(struct peer *peer);

void peer_pause(struct peer *peer);
void peer_resume(struct peer *peer);

/* Only the server's reaper calls it. */
void peer_free(struct peer *peer);
