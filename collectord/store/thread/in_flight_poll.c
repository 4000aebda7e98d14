/* SPDX-License-Identifier: MIT */
/* Decides when the dispatches in flight are scanned. */

#include "collectord/store/thread/thread.h"
#include "collectord/store/degraded.h"
#include "proto/base/clock.h"

static bool is_watched(const struct store_process *p)
{
	return p->process && p->in_flight.memfd >= 0 && !p->is_over && !p->given_up;
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

uint64_t scan_next_ns(const struct store_database *database)
{
	/* A full disk has no room for rows that describe only one moment. */
	if (database->trouble || database->must_reload || database->must_renew)
		return UINT64_MAX;
	for (const struct store_session *s = database->first_session; s; s = s->sibling)
		for (const struct store_process *p = s->processes; p; p = p->next)
			if (is_watched(p))
				return later(database->scanned_ns + IN_FLIGHT_SCAN_NS,
					database->not_before_ns);
	return UINT64_MAX;
}

static int scan_all(struct store *store, struct store_database *database)
{
	int r = 0;

	for (struct store_session *s = database->first_session; r == 0 && s; s = s->sibling)
		for (struct store_process *p = s->processes; r == 0 && p; p = p->next) {
			if (!is_watched(p))
				continue;
			store_beat(store);
			r = in_flight_look(&p->in_flight, database->writer, p->process,
				database->is_scan_asked);
			p->is_touched |= r > 0;
			r = r < 0 ? r : 0;
		}
	return r;
}

int scan_in_flight(struct store *store, struct store_database *database, bool is_asked)
{
	uint64_t next_ns = scan_next_ns(database);
	int r;

	/* A scan that no client asked for leaves out what is in flight for a moment only. */
	if (is_asked && next_ns != UINT64_MAX)
		next_ns = database->is_scan_asked ? database->scanned_ns + IN_FLIGHT_SCAN_ASKED_NS
						  : 0;
	if (clock_monotonic_ns() < next_ns)
		return 0;
	database->scanned_ns = clock_monotonic_ns();
	database->is_scan_asked = is_asked;
	r = scan_all(store, database);
	if (r == 0)
		return 0;
	trouble_fail(store, database, r);
	return STEP_UNDONE;
}
