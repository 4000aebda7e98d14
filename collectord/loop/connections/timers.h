/* SPDX-License-Identifier: MIT */
#pragma once
/* Small additions to libevent's events. Loop thread; inline only. */
#include <event2/event.h>

/* Starts a timer anew. Returns 0, or -1 without memory. */
static inline int timer_start(struct event *timer, unsigned ms)
{
	const struct timeval timeout = {.tv_sec = ms / 1000u, .tv_usec = ms % 1000u * 1000u};

	return event_add(timer, &timeout);
}

/* As event_free(), which takes no NULL. */
static inline void event_done(struct event *event)
{
	if (event)
		event_free(event);
}
