/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The loop: accepts connections within limits, determines from the first frame what a peer is, and
 * passes the answers of the store to their owners. Everything in this folder and
 * those below it runs on this one thread and never touches a disk.
 */
#include <stdbool.h>

#include "collectord/loop/connections/state.h"

/*
 * Blocks SIGTERM, SIGINT and SIGHUP until the loop reads them. Main thread, once, before the
 * collector creates anything that must be cleaned up.
 */
void server_block_signals(void);

/* Borrows the descriptors of @sockets and consumes the answers of @store. -ENOMEM. */
int server_new(const struct config *config, struct listen_sockets *sockets,
	struct store *store, struct server **ret);

/*
 * Turns the server into the worker of one tenant. Called before server_run(), on a server without
 * sockets of its own. Borrows @seat. -ENOMEM.
 */
int server_sit(struct server *server, const struct seat *seat);

/* Accepts the connections that are in the door. */
void server_take_arrived(struct server *server);

/* Takes over @fd, a connection of another worker for a tool that may see all. */
void server_take_question(struct server *server, int fd);

/* Runs until SIGTERM, or until the private session is closed. Returns the exit code. */
int server_run(struct server *server);

/* Commits everything, sends what is queued for the peers, and leaves server_run(). */
void server_stop(struct server *server, int exit_code);

/* Closes every connection and frees sessions. Call before store_free(). Returns NULL. */
struct server *server_free(struct server *server);
