/* SPDX-License-Identifier: MIT */
#pragma once
/* Signals that come before the command is started. */
#include <stdbool.h>

/*
 * rtl run may be asked to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT) when its collector runs but the
 * command does not run yet: the collector would wait for ranks that never start, and keep its file
 * in use. From run_hold() on these signals are pending until the command is started, which then
 * receives them; ignored and blocked signals stay so. A second call changes nothing.
 */
void run_hold(void);

/* True for one of these four signals. */
bool run_hold_is_end(int signal_number);

/*
 * The signal that came meanwhile; 0 if none did. If one did, the command is not started, and the
 * session is closed.
 */
int run_hold_pending(void);

/* Called if no command was started. A signal that came meanwhile ends this process here. */
void run_hold_release(void);

/* How long rtl run waits for a silent collector after it was asked to end. */
#define RUN_HURRY_MS 2000u
