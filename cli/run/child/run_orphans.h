/* SPDX-License-Identifier: MIT */
#pragma once
/* Processes that the command leaves running. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/child/child.h"

/*
 * After run_child_wait(): waits for processes that the command left running, which may be ranks
 * that the collector does not know yet, until @deadline_ns (CLOCK_MONOTONIC) or until the user
 * wants to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT). Returns how many still run, with at most @max of
 * their pids in @ret.
 */
size_t run_orphans_wait(const struct run_child *child, struct run_collector *collector,
	uint64_t deadline_ns, pid_t *ret, size_t max);
/*
 * Called before the command is started: processes that it leaves behind become our children, so
 * that we can wait for them.
 */
void run_orphans_adopt(struct run_child *child);
