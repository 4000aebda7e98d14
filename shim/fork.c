/* SPDX-License-Identifier: MIT */
#include "shim/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "shim/thread_state.h"
#include "shim/calls.h"
#include "shim/events.h"
#include "shim/fd.h"
#include "shim/hooks.h"
#include "shim/markers.h"
#include "shim/worker.h"

static atomic_bool fork_is_watched;

static void fork_in_child(void)
{
	struct capture *capture = hooks_capture();

	events_forget();
	markers_forget_thread();
	thread_state_forget();
	calls_forget();
	/* A child of the child: what these numbers stand for by now is not ours. */
	if (!capture)
		return;
	hooks_remove();
	capture_pass_through(capture);
	worker_forget();
	if (fd_is(capture_recorder(capture)->fd, FD_RECORDER))
		close(capture_recorder(capture)->fd);
}

void fork_watch(void)
{
	if (!atomic_exchange(&fork_is_watched, true))
		pthread_atfork(NULL, NULL, fork_in_child);
}
