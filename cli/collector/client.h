/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A tool's end of the conversation with a collector: connect, send a frame, receive one.
 * Blocking with deadlines; one thread. The kernel tells which
 * process listens, and a collector of another user is refused. Prints nothing: the caller reports.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/collector/places.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"

/* How long a collector may take to answer a tool: it may be busy with a commit. */
#define CLIENT_REPLY_MS 10000

struct client {
	int fd;	   /* -1: not connected */
	pid_t pid; /* that called listen(), from the kernel; may be the collector's parent */
	uid_t uid;
	char path[PLACES_SOCKET_BYTES];
	char refusal[256]; /* the collector's text after -ECONNABORTED */
	struct frame_reader reader;
	struct msg_arena arena;
};

#define CLIENT_NONE                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * Connect to @path. 0; -ENOENT, -ECONNREFUSED: no process listens; -EACCES: may not connect;
 * -EPERM: the listener runs neither as this user, nor as root, nor as user rtl (see ret->uid and
 * ret->pid); -ENAMETOOLONG; -errno. On failure there is nothing to release.
 */
int client_connect(struct client *client, const char *path);

/*
 * Connect to the first that answers in the client order (see places_sockets). 0, or the error of
 * an explicit socket, or of the last one tried; client->path is the one that failed.
 */
int client_connect_first(struct client *client, const char *option);

void client_close(struct client *client);

/* Send one frame. 0, -EPIPE and the like, -ETIMEDOUT, -ENOMEM. */
int client_send(struct client *client, const Rtl__Frame *frame);

/*
 * Receive one frame, at most @timeout_ms (-1: for ever, 0: only what is there). 0: *ret lives in
 * the client until the next receive; -ETIMEDOUT; -ECONNRESET: the collector hung up;
 * -ECONNABORTED: it refused, with client->refusal; -EBADMSG, -EMSGSIZE: it broke the protocol.
 */
int client_receive(struct client *client, int timeout_ms, Rtl__Frame **ret);

/* Send @request and receive its answer, which must have the body @expect (else -EBADMSG). */
int client_call(struct client *client, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	Rtl__Frame **ret);

/* The error of one of the above as a sentence for people, without a full stop. */
const char *client_error(const struct client *client, int error);
