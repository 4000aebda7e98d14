/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A loop that is the worker of one tenant: its connections come out of a door, the rest is asked of
 * the supervisor and told to it. Loop thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/channel/channel.h"
#include "collectord/loop/access.h"

struct seat;
struct server;

/* -ENOMEM. */
int seated_new(struct server *server, const struct seat *seat);
void seated_free(struct server *server);

/* As accept(), out of the door. */
int seated_next_connection(struct server *server);

/* All that was left open is known. */
void seated_recovered(struct server *server);

/* True: what had connected when *@ticket was made has been looked at. See server_is_settled(). */
bool seated_is_settled(struct server *server, uint64_t *ticket);

/* Did who connects find the service's sockets, when that was last asked? */
bool seated_is_reachable(const struct server *server);

/* Has the supervisor listened since then, and turned nobody of this tenant away? */
bool seated_has_watched_since(const struct server *server, uint64_t realtime_ns);

/* For others to see. */
void seated_publish(const struct server *server);
struct access_totals seated_totals(const struct server *server);

/* Of the service; of this process where it is no worker. */
pid_t seated_pid(const struct server *server);

/* 0; -EAGAIN, -EPIPE: as channel_send(). */
int seated_tell(struct server *server, enum channel_kind kind, uint64_t number);
