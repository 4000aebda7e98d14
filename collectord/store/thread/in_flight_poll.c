/* SPDX-License-Identifier: MIT */
/* Decides when the dispatches in flight are scanned, and how many processes one turn scans. */
#include <errno.h>

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
	if (database->trouble || database->must_reload || database->must_renew || database->drain)
		return UINT64_MAX;
	for (const struct store_session *s = database->first_session; s; s = s->sibling)
		for (const struct store_process *p = s->processes; p; p = p->next)
			if (is_watched(p))
				return later(database->is_scanning
						     ? 0
						     : database->scanned_ns + IN_FLIGHT_SCAN_NS,
					database->not_before_ns);
	return UINT64_MAX;
}

/* A process that is not watched counts as scanned. */
static int scan_process(
	struct store *store, struct store_database *database, struct store_process *p)
{
	int r;

	p->scan = database->scan;
	if (!is_watched(p))
		return 0;
	store_beat(store);
	r = in_flight_look(&p->in_flight, database->writer, p->process, database->is_scan_asked);
	p->is_touched |= r > 0;
	return r < 0 ? r : 1;
}

/* Scans processes that this scan has not reached, up to a number and a time. SCAN_MORE, 0, an
 * error. */
static int continue_scan(struct store *store, struct store_database *database)
{
	uint64_t until_ns = clock_monotonic_ns() + IN_FLIGHT_SCAN_SLICE_NS;
	unsigned left = IN_FLIGHT_SCAN_PROCESSES;

	for (struct store_session *s = database->first_session; s; s = s->sibling)
		for (struct store_process *p = s->processes; p; p = p->next) {
			int r = p->scan == database->scan ? 0 : scan_process(store, database, p);

			if (r < 0)
				return r;
			if (r > 0 && (!--left || clock_monotonic_ns() >= until_ns))
				return SCAN_MORE;
		}
	return 0;
}

int scan_slice(struct store *store, struct store_database *database, bool is_asked)
{
	uint64_t next_ns = scan_next_ns(database);
	int r;

	if (!database->is_scanning || (is_asked && !database->is_scan_asked)) {
		/* A scan that no client asked for leaves out what is in flight for a moment
		 * only. */
		if (is_asked && next_ns != UINT64_MAX)
			next_ns = database->is_scan_asked
					  ? database->scanned_ns + IN_FLIGHT_SCAN_ASKED_NS
					  : 0;
		if (clock_monotonic_ns() < next_ns)
			return 0;
		database->scanned_ns = clock_monotonic_ns();
		database->scan++;
		database->is_scan_asked = is_asked;
	}
	r = continue_scan(store, database);
	database->is_scanning = r == SCAN_MORE;
	if (r >= 0)
		return r;
	trouble_fail(store, database, r);
	return STEP_UNDONE;
}
