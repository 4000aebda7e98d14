/* SPDX-License-Identifier: MIT */
#pragma once
/* What tools are told of the collector as a whole. Loop thread. */
struct peer;
struct server;

/* Totals of the whole node. */
struct overview_totals {
	unsigned sessions; /* not closed */
	unsigned processes;
	unsigned connections;
};
struct overview_totals overview_totals(const struct server *server);

/* Publishes the counts of this worker in the ledger. */
void overview_publish(const struct server *server);

#define OVERVIEW_STATE_BYTES 512
/*
 * State of the sessions that @peer may see: "ok", or for instance "degraded: SESSION: why (and 2
 * more)". The text may be in @ret.
 */
const char *overview_state(
	const struct server *server, struct peer *peer, char ret[OVERVIEW_STATE_BYTES]);
