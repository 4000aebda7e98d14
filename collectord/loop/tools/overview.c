// SPDX-License-Identifier: MIT
#include "collectord/loop/tools/overview.h"

#include <stdio.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/seat.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/access.h"
#include "collectord/loop/sessions/session.h"

void overview_publish(const struct server *server)
{
	struct ledger_tenant *page = server->seat->page;
	uint32_t sessions = 0, processes = 0;

	for (const struct session *s = server->sessions; s; s = s->next) {
		sessions += s->state != SESSION_CLOSED;
		processes += session_live_instances(s);
	}
	atomic_store_explicit(&page->sessions, sessions, memory_order_relaxed);
	atomic_store_explicit(&page->processes, processes, memory_order_relaxed);
	atomic_store_explicit(
		&page->connections, server->n_peers - server->n_questions, memory_order_relaxed);
}

static struct overview_totals node_totals(const struct server *server)
{
	struct ledger_totals all;

	overview_publish(server); /* includes the connection that asks */
	all = ledger_totals(server->seat->ledger);
	return (struct overview_totals){.sessions = all.sessions,
		.processes = all.processes,
		.connections = all.connections};
}

struct overview_totals overview_totals(const struct server *server)
{
	struct overview_totals totals = {.connections = server->n_peers};

	if (server->seat)
		return node_totals(server);
	for (const struct session *s = server->sessions; s; s = s->next) {
		totals.sessions += s->state != SESSION_CLOSED;
		totals.processes += session_live_instances(s);
	}
	return totals;
}

const char *overview_state(
	const struct server *server, struct peer *peer, char ret[OVERVIEW_STATE_BYTES])
{
	const struct session *degraded = NULL, *held = NULL, *over = NULL;
	unsigned more = 0;

	for (const struct session *s = server->sessions; s; s = s->next) {
		if ((!s->trouble && !s->held && !s->over_quota) ||
			!access_may_see(server, peer, s->uid))
			continue;
		more += s->trouble && degraded;
		degraded = !degraded && s->trouble ? s : degraded;
		held = !held && s->held ? s : held;
		over = !over && s->over_quota ? s : over;
	}
	if (!degraded && !held && !over)
		return "ok";
	if (!degraded && over)
		snprintf(ret, OVERVIEW_STATE_BYTES, "%s: %s", over->name, over->over_quota);
	else if (!degraded)
		snprintf(ret, OVERVIEW_STATE_BYTES, "storing, but: %s: %s", held->name, held->held);
	else if (more)
		snprintf(ret, OVERVIEW_STATE_BYTES, "degraded: %s: %s (and %u more)",
			degraded->name, degraded->trouble, more);
	else
		snprintf(ret, OVERVIEW_STATE_BYTES, "degraded: %s: %s", degraded->name,
			degraded->trouble);
	return ret;
}
