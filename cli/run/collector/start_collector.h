/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Starts a private collector so that it outlives this rtl run if others have joined, inherits none
 * of its descriptors (our caller may wait until our pipes are closed), and no rank can come too
 * early: the socket listens before the collector runs. Only private_collector.c calls this, with
 * its lock held.
 */
#include <stdbool.h>

#include "cli/run/collector/collector.h"
#include "cli/run/job/why.h"

/*
 * Binds and listens at collector->socket, starts @program (collectord) on it, and connects. Returns
 * 0, or -errno with @why. Its answer to RunnerHello tells whether it started.
 */
int run_start(struct run_collector *collector, const char *program, const char *session,
	const char *database, bool is_verbose, char why[RUN_WHY_BYTES]);

/* A recorder that is passed to a collector of ours. */
struct run_kept {
	int fd;
	char *name;
};

struct run_spawn {
	int listen_fd;
	int log_fd;
	const char *notify; /* NOTIFY_SOCKET; NULL if recorders are not kept */
	char *const *command;
	const struct run_kept *kept; /* recorders of an earlier instance of it */
	size_t n_kept;
};

/*
 * Borrows everything. Returns 0 with its pid and pidfd (-1 if the kernel has none); -ECONNRESET if
 * it has already ended; or -errno.
 */
int run_start_spawn(const struct run_spawn *spawn, pid_t *ret_pid, int *ret_pidfd);

/*
 * Called before another collector is started, so that the log of the earlier one is not taken for
 * its own.
 */
void run_start_clear_log(const struct run_collector *collector);

/* Tells why it did not answer: the last line of its log, if there is one. */
void run_start_explain(const struct run_collector *collector, int error, char why[RUN_WHY_BYTES]);
