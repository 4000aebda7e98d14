/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the service manager is told, in sd_notify(3)'s protocol. When nobody listens these do
 * nothing. Loop thread.
 */
#include <stdint.h>

/* From now on recorders are kept by the supervisor at the other end of @channel, and nothing else
 * is said: a worker of the service. */
void notify_to(int channel);

void notify_ready(const char *status);
void notify_stopping(void);
void notify_alive(void);

/*
 * Keep a descriptor of @fd beyond our own life, under @name (no colon), and no longer. Who started
 * us passes it on to our successor (LISTEN_FDS, LISTEN_FDNAMES). 0; -EAGAIN: it is busy, or the
 * kernel is short of something, try again; -ENOTCONN: nobody keeps anything; -errno: it is not
 * heard, and will not be.
 */
int notify_keep(int fd, const char *name);
int notify_drop(const char *name);

/* How often notify_alive() is expected at the least, in microseconds; 0: not at all. */
uint64_t notify_watchdog_us(void);
