/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The list of private runs. A private run lies where its user wanted it, so that no verb would find
 * it by the name of its session: a link of that name in $XDG_STATE_HOME/rtl/private leads there, or
 * in $XDG_STATE_HOME/rtl/kept, where links are never dropped. find_session.c looks into both. One
 * thread; prints nothing.
 */
#include <stdbool.h>

/*
 * Lists @path, absolute, as the run @session. Files are not looked at, since one of them may lie on
 * a server that does not answer; of very many links the oldest goes. Nothing here may stop a job,
 * so there is no error.
 */
void private_runs_add(const char *session, const char *path);

/*
 * Keeps @path, an existing file, in the list as the run @session, or ends that. Returns 0; -EEXIST:
 * another file is kept under that name; or -errno.
 */
int private_runs_keep(const char *session, const char *path, bool is_kept);

/* True if @path, a file that exists, is kept. */
bool private_runs_keeps(const char *path);

/* Drops the links to the existing file @path, which is about to be removed. */
void private_runs_forget(const char *path);
