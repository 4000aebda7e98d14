/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ensures that no two collectors store in the same place. Called by main before the threads start.
 */
#include <sys/types.h>

/* A lock that ends with the process that took it. */
struct claim {
	int fd; /* -1: none */
	char *path;
};

/*
 * Locks the file @path, which is created if it is missing. Returns 0; -EADDRINUSE: the process
 * *ret_pid holds it (0: unknown); -ENOLCK: the file is not a lock file of ours; -ENOMEM, or an
 * error of open(). Closing any descriptor of the file in this process releases the lock.
 */
int claim_take(const char *path, struct claim *ret, pid_t *ret_pid);

/* The same, but waits a while for a holder that is about to exit. */
int claim_wait(const char *path, struct claim *ret, pid_t *ret_pid);

/* Releases the lock and removes the file. */
void claim_release(struct claim *claim);
