/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl run is the service manager of its own private collector. It owns the listening socket, keeps
 * the recorders that the collector gives it (sd_notify's FDSTORE), and if the collector dies,
 * starts another one that continues in its place. There is one thread, except for the one that
 * frees a recorder. The loops of rtl run watch run_keeper_fd() and call run_keeper_serve().
 */
#include "cli/run/start_collector.h"

/*
 * On success takes over the descriptors of @spawn; the rest is copied. Returns 0, -ENOMEM or
 * -errno.
 */
int run_keeper_new(const struct run_spawn *spawn, const char *program, const char *session,
	const char *database, bool is_verbose, struct run_collector *collector);

/* Starts the collector with all recorders that are kept. Returns 0 or -errno. */
int run_keeper_spawn(struct run_collector *collector);

/* Returns NULL. A collector that is alive continues alone. */
struct run_keeper *run_keeper_free(struct run_keeper *keeper);
