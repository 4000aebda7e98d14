/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl run is the service manager of its own private collector. It owns the listening socket, keeps
 * the recorders that the collector gives it (sd_notify's FDSTORE), and if the collector dies,
 * starts another one that continues in its place. There is one thread, except for the one that
 * frees a recorder. The loops of rtl run watch run_keeper_fd() and call run_keeper_serve().
 */
#include "cli/run/collector/start_collector.h"

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

/*
 * For callers that poll the collector's pidfd themselves. Readable when the collector has sent an
 * FDSTORE or FDSTOREREMOVE message, which run_keeper_receive() handles. The last process to close a
 * recorder frees its memory, which takes time: the collector has closed it by then, so a thread of
 * rtl run closes it.
 */
int run_keeper_notify_fd(const struct run_collector *collector);
void run_keeper_receive(struct run_collector *collector);

/* The descriptor that a waiting caller polls for input; -1 if there is none. */
int run_keeper_fd(const struct run_collector *collector);

/*
 * Does what is due, and never waits. True if the collector had died and another one has just
 * accepted us.
 */
bool run_keeper_serve(struct run_collector *collector);

/* False if the collector that we started has died and is not running again yet. */
bool run_keeper_lives(const struct run_collector *collector);

/* Pid of a collector that we started and that is alive, otherwise 0. */
pid_t run_keeper_pid(const struct run_collector *collector);

/*
 * Kills a collector that we cannot use and that serves no other process, because it would keep its
 * file in use.
 */
void run_keeper_kill(const struct run_collector *collector);

/* Also false while a restarted collector has not accepted us yet. */
bool run_keeper_is_up(const struct run_collector *collector);
