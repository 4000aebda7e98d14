/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim thread: harvests dispatches and events, takes anchors and keeps the connection. No
 * thread of the application waits for it, and no dispatch wakes it. There is one instance at a
 * time; OnLoad and OnUnload call start and stop.
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
	struct agents *agents; /* tick_hz is set if the runtime does not report it */
	struct clock_source *clocks;
	struct hello hello;
	const char *socket; /* RTL_SOCKET or "" */
	uint64_t exit_ns;   /* longest time that worker_stop() may take */
	/*
	 * RTL_THREAD=no: there is no shim thread, and no connection once the collector has the
	 * recorder, which it reads after the process has died. The callers of worker_settle() and
	 * worker_stop() do what the thread would do at the end.
	 */
	bool is_alone;
};

/* What @setup points to must stay valid until worker_stop(). -errno of what failed. */
int worker_start(const struct worker_setup *setup);
/* After a failure: whether the collector has our Hello, or will get it. */
bool worker_has_greeted(void);

/*
 * Called at exit(), by which most HIP programs end without hsa_shut_down(). Waits until the
 * collector knows of this process (if there is no connection, tries once more), its last changes of
 * rank and of recording are in the recorder, and what is in flight is in frames. If nothing ends,
 * it waits at most 4/5 of exit_ns, and on a machine too busy for that many checks until it has made
 * them. While dispatches end, it waits longer, up to SETTLE_TIMES_MAX of that. worker_stop() may
 * take the rest. The runtime continues, and dispatches may still come.
 */
void worker_settle(void);

/*
 * Harvests what is finished, publishes it, sends as much as the socket takes, and says Bye if
 * nothing is in flight and @is_quiet: no dispatch or event can come any more. Returns after exit_ns
 * at the latest; false if the thread had not finished by then and was detached.
 */
bool worker_stop(bool is_quiet);

/*
 * Called in OnUnload if the thread had not finished and harvest_detach() has kept it from the
 * runtime: does what the collector needs and the thread may not have done.
 */
void worker_stand_in(void);

/*
 * Whether an earlier thread did not end in time and has not ended since, so that no other may
 * start. On a busy machine it may just not have run, so this waits for it once more, as long as
 * worker_stop() may.
 */
bool worker_is_lost(void);

/* Called before the next start: closes what worker_stop() left open for the collector to read. */
void worker_release(void);

/*
 * For the child of fork(), which has no shim thread: closes the descriptors and forgets the rest.
 */
void worker_forget(void);
