/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Starts a private collector so that it outlives this rtl run when others have joined, holds
 * none of its descriptors (a caller waits for the end of our pipes), and no rank can come too
 * early: the socket listens before the collector exists. Only for private_collector.c, under its
 * lock.
 */
#include <stdbool.h>

#include "cli/run/run.h"

/*
 * Bind and listen at collector->socket, start @program (collectord) on it and connect. 0; -errno
 * with @why. Whether it came up is what its answer to RunnerHello tells.
 */
int run_start(struct run_collector *collector, const char *program, const char *session,
	const char *database, bool is_verbose, char why[RUN_WHY_BYTES]);

/* What a collector of ours is started with. */
struct run_kept {
	int fd;
	char *name;
};

struct run_spawn {
	int listen_fd;
	int log_fd;
	const char *notify; /* NOTIFY_SOCKET; NULL: recorders are not kept */
	char *const *command;
	const struct run_kept *kept; /* recorders of an earlier life of it */
	size_t n_kept;
};

/*
 * Borrows everything. 0, with its pid and pidfd, or -1 where the kernel has none; -ECONNRESET: it
 * is dead already; -errno.
 */
int run_start_spawn(const struct run_spawn *spawn, pid_t *ret_pid, int *ret_pidfd);

/* Before another one is started: what the one before it said is not its word. */
void run_start_clear_log(const struct run_collector *collector);

/* Why it did not answer: its own last words where it has any. */
void run_start_explain(const struct run_collector *collector, int error, char why[RUN_WHY_BYTES]);
