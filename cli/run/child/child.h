/* SPDX-License-Identifier: MIT */
#pragma once
/* The command: starts it, passes signals on, and waits for it. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/run/child/gpu_watch.h"
#include "cli/run/collector/collector.h"
#include "cli/run/job/job_environment.h"

/*
 * Finds the file that @command names, as a shell does. Returns 0, or CMD_NOT_FOUND or
 * CMD_NOT_EXECUTABLE after a message.
 */
int run_child_find(const char *command);

/*
 * Children that the process had before it became rtl; beyond this number they are taken for the
 * command's.
 */
#define RUN_INHERITED_MAX 64u

struct run_child {
	pid_t pid;
	int signal_fd;	  /* for the signals that we pass on, and SIGCHLD */
	int status;	  /* wait status, valid once it has ended */
	bool is_recorded; /* set before the start: processes that it leaves behind are waited for */
	/* For SIGCHLD and SIGPIPE: the command inherits them. */
	struct sigaction old_child, old_pipe;
	sigset_t old_mask; /* the command inherits it */
	/* The command inherits it; supervisor.c may need more descriptors. */
	struct rlimit old_descriptors;
	pid_t inherited[RUN_INHERITED_MAX]; /* children that do not belong to the command */
	size_t n_inherited;
	struct gpu_watch gpu_watch; /* filled in by run_child_wait() */
};

/* Called before anything is started. */
void run_child_init(struct run_child *child);

/*
 * Takes over the signals, then starts the command. Returns 0, or an exit status after a message or
 * if run_hold_pending().
 */
int run_child_start(struct run_child *child, char **command, const struct jobenv *env);

/*
 * Waits for the end of the command while passing signals on and restarting a collector that died.
 * Returns the exit status that a shell would return.
 */
int run_child_wait(struct run_child *child, struct run_collector *collector);

/* After run_child_wait(): true if SIGINT, SIGTERM, SIGHUP or SIGQUIT came since the last call. */
bool run_child_is_end_wanted(const struct run_child *child);
