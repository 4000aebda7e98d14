/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A tool's end of a connection to a collector: connect, send a frame, receive a frame. Blocks, with
 * deadlines; one thread. The kernel tells which process listens, and a collector of another user is
 * refused. Prints nothing: the caller reports errors.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/collector/places.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"

/* Time that a collector has to answer a tool; it may be busy with a commit. */
#define CLIENT_REPLY_MS 10000

struct client {
	int fd; /* -1 if not connected */
	/* Process that called listen(), from the kernel; may be the collector's parent. */
	pid_t pid;
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
 * Connects to @path. Returns 0; -ENOENT or -ECONNREFUSED if no process listens; -EACCES if this
 * user may not connect; -EPERM if the listener runs neither as this user, nor as root, nor as user
 * rtl (see ret->uid and ret->pid); -ENAMETOOLONG; or -errno. After a failure there is nothing to
 * release.
 */
int client_connect(struct client *client, const char *path);

/*
 * Connects to the first collector that answers, in the client order (see places_sockets). Returns
 * 0, or the error of an explicit socket or of the last one tried; client->path is the one that
 * failed.
 */
int client_connect_first(struct client *client, const char *option);

void client_close(struct client *client);

/* Sends one frame. Returns 0, -EPIPE or similar, -ETIMEDOUT, or -ENOMEM. */
int client_send(struct client *client, const Rtl__Frame *frame);

/*
 * Receives one frame within @timeout_ms (-1: no limit, 0: only a frame that has arrived). Returns 0
 * with *ret, which is valid until the next call; -ETIMEDOUT; -ECONNRESET if the collector hung up;
 * -ECONNABORTED if it refused, with client->refusal; -EBADMSG or -EMSGSIZE if it broke the
 * protocol.
 */
int client_receive(struct client *client, int timeout_ms, Rtl__Frame **ret);

/* Sends @request and receives its answer, which must have the body @expect, otherwise -EBADMSG. */
int client_call(struct client *client, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	Rtl__Frame **ret);

/* Returns the error of one of the functions above as text without a full stop. */
const char *client_error(const struct client *client, int error);
