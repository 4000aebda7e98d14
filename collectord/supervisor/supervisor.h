/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The service's main process: a worker for each tenant, and acceptors that hand connections to them
 * (docs/architecture.md, "Processes of the service"). It never holds a connection, nor anything
 * else of a tenant's that could make it wait. One thread.
 */
#include "collectord/channel/seat.h"

struct config;
struct listen_sockets;

/* What a worker does, in a process of its own: with the recorders that are kept for its tenant in
 * @sockets, and nothing else. Its exit status. */
typedef int (*supervisor_work)(
	const struct config *config, struct listen_sockets *sockets, const struct seat *seat);

/* Until SIGTERM. @reserve: goes to each worker, unless it is -1. The exit status. Errors are said.
 */
int supervisor_run(const struct config *config, struct listen_sockets *sockets, int reserve,
	supervisor_work work);
