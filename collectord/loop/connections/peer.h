/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One accepted connection: splits bytes into whole frames and sends frames, holds the credentials
 * of the peer, and enforces deadlines and limits. The role (shim_peer, runner, tool), set at the
 * first frame, interprets the frames. Loop thread only. The loop frees a peer, never a callback:
 * after peer_close() the pointer stays valid until the loop turns.
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
	/* Handles one whole frame, without its length prefix. */
	void (*frame)(struct peer *peer, const uint8_t *frame, size_t bytes);
	/* The alternative: handles all whole frames received, with their length prefixes. */
	void (*frames)(struct peer *peer, const uint8_t *frames, size_t bytes);
	/*
	 * For such a role: how many bytes may be read now. With hundreds of peers each of them must
	 * be limited.
	 */
	size_t (*room)(struct peer *peer);
	/* Called once when the connection has ended, before the peer is freed. */
	void (*closed)(struct peer *peer);
};

struct peer {
	struct server *server;
	struct peer *previous, *next; /* in the server's list of live peers; `next` is in the
				       * list of dead ones after the end */
	int fd;
	uid_t uid; /* as the kernel reports it for connect() */
	gid_t gid;
	pid_t pid;     /* 0: the process is in a pid namespace that we cannot see into */
	int pidfd;     /* -1: none */
	int passed_fd; /* passed with the first frame */
	unsigned n_passed;
	struct frame_reader reader;
	struct evbuffer *output;
	struct event *read_event;
	struct event *write_event;
	struct event *deadline;
	const struct peer_role *role; /* NULL: not greeted yet */
	void *role_data;
	bool is_paused;	   /* not read until peer_resume() */
	bool is_held;	   /* paused until it has read its reply */
	bool is_waiting;   /* paused because its user asks too often (peer_limits.h) */
	bool is_finishing; /* not read any more; closed when its output is written */
	bool is_ended;
	bool is_partial;  /* the deadline runs for an incomplete frame */
	unsigned known;	  /* enum channel_peer */
	bool is_question; /* connection of another worker, for a tool that may see all: answered
			   * with this tenant's part */
	bool has_access, sees_all; /* used by access.c: whether access was determined, and the
				    * result */
};

/* Takes ownership of @fd on success only. -ENOMEM, or the error of a socket option. */
int peer_new(struct server *server, int fd, struct peer **ret);

/* The reason to refuse a frame that may be valid. */
extern const char peer_no_memory[];

/* Sets the role once the first frame is understood, and the size limit of later frames. */
void peer_greeted(struct peer *peer, const struct peer_role *role, void *data, size_t limit);

/* Reads what is there now, as the loop does when the connection is readable. */
void peer_read(struct peer *peer);

/* Queues @frame. A peer that does not read its replies is closed. */
void peer_send(struct peer *peer, const Rtl__Frame *frame);

/* Sends a Refusal with that line, then closes. */
void peer_refuse(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Closes when everything queued is written. */
void peer_finish(struct peer *peer);

/* Closes now. */
void peer_close(struct peer *peer);

void peer_pause(struct peer *peer);
void peer_resume(struct peer *peer);

/* Called only by the server's reaper. */
void peer_free(struct peer *peer);
