/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Takes quotas and retention of rtl.conf as they are now: after SIGHUP, or on a word of the
 * supervisor. Loop thread.
 */
struct server;

/* Logs the outcome. If a file is wrong, the limits stay as they are. */
void server_reload(struct server *server);
