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
#include "shim/base/process/process_rank.h"
#include "shim/record/rank_changes.h"
#include "shim/record/recording_intervals.h"
#include "shim/send/worker.h"

/*
 * A forked child has our hooks but not our thread: all its calls go to the originals, and what it
 * inherited from us is closed. No locks here, no allocation. In a child that was made without
 * libc's fork() (raw clone, _Fork) the hooks read 0 in a page that the kernel zeroes there
 * (shim/capture/capture.c) and call the originals; it keeps the descriptors.
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
	/*
	 * The first child has removed the hooks. In its own children these descriptors may be other
	 * files by now.
	 */
	if (!capture)
		return;
	hooks_remove();
	capture_pass_through(capture);
	worker_forget();
	if (fd_is(capture_recorder(capture)->fd, capture_recorder(capture)->fd_mark))
		close(capture_recorder(capture)->fd);
}

/*
 * The handler is registered here and not in OnLoad, because ranges and calls come before that, and
 * so do children that start their own runtime.
 */
__attribute__((constructor)) static void fork_watch(void)
{
	(void)pthread_atfork(NULL, NULL, fork_in_child);
}
