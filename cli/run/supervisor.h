/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What rtl run is to a private collector of its own: its service manager. It owns the listening
 * socket, keeps the recorders that the collector gives it (sd_notify's FDSTORE), and should the
 * collector die starts another one that goes on where the first one was. One thread, but for what
 * frees a recorder; the loops of rtl run watch run_keeper_fd() and call run_keeper_serve().
 */
#include "cli/run/start_collector.h"

/* Takes the descriptors of @spawn over, on success; the rest is copied. 0, -ENOMEM, -errno. */
int run_keeper_new(const struct run_spawn *spawn, const char *program, const char *session,
	const char *database, bool is_verbose, struct run_collector *collector);

/* Starts the collector, with all that is kept. 0 or -errno. */
int run_keeper_spawn(struct run_collector *collector);

/* Returns NULL. The collector, if it lives, goes on alone. */
struct run_keeper *run_keeper_free(struct run_keeper *keeper);
