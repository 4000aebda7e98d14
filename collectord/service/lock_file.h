/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What must hold of a place before anything is stored there: no other collector stores there.
 * Called by main before either thread runs.
 */
#include <sys/types.h>

/* A lock that ends with the process that took it. */
struct claim {
	int fd; /* -1: none */
	char *path;
};

/*
 * Takes the lock file @path, made if needed. 0; -EADDRINUSE: *ret_pid has it, 0 if that cannot be
 * told; -ENOLCK: what lies there is no lock file of ours; -ENOMEM, or what open() says. Closing any
 * descriptor of the file in this process ends the lock.
 */
int claim_take(const char *path, struct claim *ret, pid_t *ret_pid);

/* Likewise, but one that is just about to exit is waited for. */
int claim_wait(const char *path, struct claim *ret, pid_t *ret_pid);

/* Takes the file away, too. */
void claim_release(struct claim *claim);
