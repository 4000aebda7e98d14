/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the files of a worker ask of its seat: the channel to the supervisor, and what the
 * supervisor has told. Loop thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/channel/channel.h"
#include "collectord/service/container.h"

struct server;

/* True if the sockets of the service could be reached when the supervisor last checked. */
bool worker_is_reachable(const struct server *server);

/*
 * True if the supervisor has listened since @realtime_ns and has refused no connection of this
 * tenant.
 */
bool worker_has_watched_since(const struct server *server, uint64_t realtime_ns);

/* The pid of the service, or of this process if it is not a worker. */
pid_t worker_pid(const struct server *server);

/*
 * Writes the name of the container that this worker serves, or its number if the name is not known
 * yet. Returns @ret, or NULL if it serves none.
 */
const char *worker_container(const struct server *server, char ret[CONTAINER_NAME_BYTES]);

/* Returns 0, -EAGAIN or -EPIPE, as channel_send(). */
int worker_tell(struct server *server, enum channel_kind kind, uint64_t number);
