/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ends the loop: on SIGTERM, or at the end of a private session. Also feeds the watchdog of the
 * service manager, which ends a loop that hangs. Loop thread.
 */
struct server;

/* Makes the timers, and the one for the watchdog if there is one. -ENOMEM. */
int stop_init(struct server *server);
void stop_done(struct server *server);

void stop_on_signal(struct server *server, int number);

/*
 * Called when a peer has gone or everything is committed: leaves the loop when all output is
 * written and everything is committed.
 */
void stop_check(struct server *server);
