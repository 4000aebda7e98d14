/* SPDX-License-Identifier: MIT */
#pragma once
/* Takes over the recorders that the keeper has held since an earlier collector. Loop thread. */
struct listen_sockets;
struct server;

/*
 * Takes the recorders out of @sockets. Called at the start, when the sessions that were left open
 * are known and before the collector accepts connections. A recorder that is not valid, or that
 * cannot be taken over, is dropped.
 */
void kept_resume(struct server *server, struct listen_sockets *sockets);
