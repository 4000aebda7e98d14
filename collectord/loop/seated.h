/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The loop as the worker of one tenant: it takes connections from a door and exchanges messages
 * with the supervisor. Loop thread.
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

/* As accept(), but takes the connection from the door. *@ret_known: enum channel_peer. */
int seated_next_connection(struct server *server, unsigned *ret_known);

/* Called when every session that was left open is known. */
void seated_recovered(struct server *server);

/*
 * True if every connection made before *@ticket was issued has been processed. See
 * server_is_settled().
 */
bool seated_is_settled(struct server *server, uint64_t *ticket);

/* True if the sockets of the service could be reached when the supervisor last checked. */
bool seated_is_reachable(const struct server *server);

/*
 * True if the supervisor has listened since @realtime_ns and has refused no connection of this
 * tenant.
 */
bool seated_has_watched_since(const struct server *server, uint64_t realtime_ns);

/* Publishes the counts of this worker in the ledger. */
void seated_publish(const struct server *server);
struct access_totals seated_totals(const struct server *server);

/* The pid of the service, or of this process if it is not a worker. */
pid_t seated_pid(const struct server *server);

/* Returns 0, -EAGAIN or -EPIPE, as channel_send(). */
int seated_tell(struct server *server, enum channel_kind kind, uint64_t number);
