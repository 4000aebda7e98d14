/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Connections, and processes that do nothing but have one: what they connect is handed over, so
 * that the test speaks on it as they.
 */
#include <stddef.h>
#include <sys/types.h>

#define FAKE_FDS_MAX 8u

/* A blocking socket, or -errno. */
int fake_connect(const char *path);
/* @n bytes and @n_fds descriptors in one message. 0 or -errno. */
int fake_send_fds(int socket, const void *bytes, size_t n, const int *fds, unsigned n_fds);

/*
 * The connection of a new process, which becomes @uid where that is not (uid_t)-1; or -errno, the
 * child's own where it has none, -ECHILD: it died before it said why. @ret_child may live then,
 * too: the caller's to kill, as is @ret_control to close.
 */
int fake_child_start(const char *path, uid_t uid, pid_t *ret_child, int *ret_control);
/* The same process connects again. */
int fake_child_again(int control);
