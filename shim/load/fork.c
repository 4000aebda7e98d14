/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <unistd.h>

#include "shim/base/thread.h"
#include "shim/events/calls.h"
#include "shim/events/events.h"
#include "shim/base/fd.h"
#include "shim/base/gate.h"
#include "shim/load/hooks.h"
#include "shim/events/markers.h"
#include "shim/base/process_rank.h"
#include "shim/record/rank_changes.h"
#include "shim/record/recording_intervals.h"
#include "shim/send/worker.h"

/*
 * A forked child has our hooks but not our thread: everything it calls goes to the originals,
 * and what it inherited from us is closed. No locks there, no allocation. A child that was made
 * past libc (raw clone, _Fork) finds its hooks off by capture's own page, and keeps descriptors.
 */
static void fork_in_child(void)
{
	struct capture *capture = hooks_capture();

	events_forget();
	gate_forget();
	markers_forget_thread();
	thread_state_forget();
	calls_forget();
	recording_forget();
	process_rank_forget();
	rank_changes_forget();
	/* A child of the child: what these numbers stand for by now is not ours. */
	if (!capture)
		return;
	hooks_remove();
	capture_pass_through(capture);
	worker_forget();
	if (fd_is(capture_recorder(capture)->fd, capture_recorder(capture)->fd_mark))
		close(capture_recorder(capture)->fd);
}

/* Not in OnLoad: ranges and calls come before it, and children that bring up a runtime of their own. */
__attribute__((constructor)) static void fork_watch(void)
{
	(void)pthread_atfork(NULL, NULL, fork_in_child);
}
