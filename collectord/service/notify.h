/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Notifies the service manager by the protocol of sd_notify(3). Without NOTIFY_SOCKET these
 * functions do nothing. Loop thread.
 */
#include <stdint.h>

/*
 * Called in a worker of the service: from now on the supervisor at the other end of @channel keeps
 * recorders, and nothing else is notified.
 */
void notify_to(int channel);

void notify_ready(const char *status);
void notify_stopping(void);
void notify_alive(void);

/*
 * Passes a descriptor of @fd to the keeper, which holds it under @name (no colon) beyond our own
 * life and passes it to the next collector (LISTEN_FDS, LISTEN_FDNAMES); notify_drop() ends that.
 * The process that started us is the keeper. Returns 0; -EAGAIN: it is busy or the kernel is short
 * of a resource, try again; -ENOTCONN: there is no keeper; another -errno: the keeper cannot be
 * reached.
 */
int notify_keep(int fd, const char *name);
int notify_drop(const char *name);

/* Interval in microseconds at which notify_alive() is expected at least; 0: not expected. */
uint64_t notify_watchdog_us(void);
