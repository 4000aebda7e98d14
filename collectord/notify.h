/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the service manager is told (sd_notify). Without libsystemd, or when nobody listens,
 * these do nothing. Loop thread.
 */
#include <stdint.h>

void notify_ready(const char *status);
void notify_stopping(void);
void notify_alive(void);

/* How often notify_alive() is expected at the least, in microseconds; 0: not at all. */
uint64_t notify_watchdog_us(void);
