/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The loop as the worker of one tenant: it takes connections from a door and exchanges messages
 * with the supervisor. Loop thread.
 */
#include <stdbool.h>
#include <stdint.h>

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
 * server_calls.is_settled().
 */
bool seated_is_settled(struct server *server, uint64_t *ticket);
