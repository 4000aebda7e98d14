/* SPDX-License-Identifier: MIT */
#include "collectord/notify.h"

#ifdef RTL_SYSTEMD
#include <systemd/sd-daemon.h>

void notify_ready(const char *status)
{
	(void)sd_notifyf(0, "READY=1\nSTATUS=%s", status); /* a manager that is gone is no error */
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

void notify_alive(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_watchdog_us(void)
{
	uint64_t us = 0;

	return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}
#else
void notify_ready(const char *status)
{
	(void)status;
}

void notify_stopping(void)
{
}

void notify_alive(void)
{
}

uint64_t notify_watchdog_us(void)
{
	return 0;
}
#endif
