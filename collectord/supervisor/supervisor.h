/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The main process of the service: a worker for each tenant, and acceptors that pass connections to
 * them (docs/architecture.md, "Processes of the service"). It never holds a connection, nor
 * anything else of a tenant that could block it. One thread.
 */
#include "collectord/channel/seat.h"

struct config;
struct listen_sockets;

/*
 * The work of a worker, in a process of its own. @sockets holds the recorders kept for its tenant
 * and nothing else. Returns the exit status.
 */
typedef int (*supervisor_work)(
	const struct config *config, struct listen_sockets *sockets, const struct seat *seat);

/*
 * Runs until SIGTERM. Passes @reserve to each worker, unless it is -1. Logs errors and returns the
 * exit status.
 */
int supervisor_run(const struct config *config, struct listen_sockets *sockets, int reserve,
	supervisor_work work);
