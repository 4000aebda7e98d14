/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How the loop ends: SIGTERM, the end of a private session, and the service manager's
 * watchdog that ends it from outside. Loop thread.
 */
struct server;

/* Its timers, and the watchdog's where there is one. -ENOMEM. */
int stop_init(struct server *server);
void stop_done(struct server *server);

void stop_on_signal(struct server *server, int number);

/* A peer has gone, or everything is committed: leave the loop when both are so. */
void stop_check(struct server *server);
