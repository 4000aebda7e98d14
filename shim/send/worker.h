/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim thread: harvests dispatches and events, takes anchors and keeps the connection. Nothing
 * of the application ever waits for it, and nothing of a dispatch wakes it. One instance at a time;
 * start and stop are called from OnLoad and OnUnload.
 */
#include <stdbool.h>

#include "shim/hsa/agents.h"
#include "shim/capture/capture.h"
#include "shim/hsa/clock.h"
#include "shim/send/hello.h"
#include "shim/record/strings.h"

struct worker_setup {
	struct capture *capture;
	struct strings *strings;
	struct agents *agents; /* tick_hz is filled in where the runtime does not say */
	struct clock_source *clocks;
	struct hello hello;
	const char *socket; /* RTL_SOCKET or "" */
	uint64_t exit_ns;   /* what worker_stop() may take */
	/* RTL_THREAD=no: no thread; and no connection once the collector has the recorder, which it
	 * reads when the process is dead. What the thread would do at the end is done by the caller
	 * of worker_settle() and _stop(). */
	bool is_alone;
};

/* What @setup points to has to live until worker_stop(). -errno of what failed. */
int worker_start(const struct worker_setup *setup);
/* Where that failed: all the same the collector has or gets our Hello. */
bool worker_has_greeted(void);

/*
 * exit(), which most HIP programs end by without hsa_shut_down: until the collector knows of us
 * (who has none tries once more) and what is in flight is in frames. Where nothing ends it waits
 * for 4/5 of exit_ns at most, and on a machine too busy for that many looks until it has made them;
 * as long as dispatches end, for longer: no more than SETTLE_TIMES_MAX of that. worker_stop() may
 * take the rest. The runtime lives on, and dispatches may still come.
 */
void worker_settle(void);

/*
 * Harvests what is finished, publishes it, hands it to the socket as far as that takes it, and
 * says Bye if nothing is in flight, and @is_quiet: no dispatch and no event may come any more.
 * Returns after exit_ns at the latest; false: the thread was not done by then and is left to
 * itself.
 */
bool worker_stop(bool is_quiet);

/* OnUnload, when it was not done, and harvest_detach() has kept it from the runtime: what it may
 * not have come to do with that, and the collector will need. */
void worker_stand_in(void);

/*
 * An earlier thread did not end in time, nor since: there cannot be another one. On a busy machine
 * it may only have had no turn, so this waits for it as long as worker_stop() may, once more.
 */
bool worker_is_lost(void);

/* Before the next start: closes what worker_stop() left open for the collector to read. */
void worker_release(void);

/* fork's child: the thread is not there; closes the descriptors and forgets. */
void worker_forget(void);
