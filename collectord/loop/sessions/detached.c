/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/detached.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/connections/timers.h"
#include "proto/base/cleanup.h"
#include "proto/base/list.h"
#include "proto/base/limits.h"

struct detached {
	struct detached **list;
	struct detached *next;
	struct instance_identity identity;
	struct event *death;
	int pidfd;
};

static void forget(struct detached *entry)
{
	LIST_REMOVE(*entry->list, entry, next);
	event_done(entry->death);
	close_p(&entry->pidfd);
	free(entry);
}

static void on_death(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	forget(data);
}

/* One live process can add any number of entries, by sending Hello with a new token each time. */
static void make_room(struct detached *list)
{
	struct detached *oldest = NULL; /* the list is newest first */
	unsigned n = 0;

	for (struct detached *entry = list; entry; entry = entry->next, n++)
		oldest = entry;
	if (n >= DETACHED_MAX)
		forget(oldest);
}

void detached_add(struct detached **list, struct event_base *base,
	const struct instance_identity *identity, int *pidfd)
{
	struct detached *entry = *pidfd >= 0 ? calloc(1, sizeof(*entry)) : NULL;

	if (!entry)
		return;
	make_room(*list);
	*entry = (struct detached){.list = list, .identity = *identity, .pidfd = TAKE_FD(*pidfd)};
	entry->death = event_new(base, entry->pidfd, EV_READ, on_death, entry);
	if (!entry->death || event_add(entry->death, NULL) < 0) {
		forget(entry);
		return;
	}
	entry->next = *list;
	*list = entry;
}

bool detached_has(const struct detached *list, const struct instance_identity *identity)
{
	for (; list; list = list->next)
		if (instance_is_same(&list->identity, identity))
			return true;
	return false;
}

void detached_free(struct detached **list)
{
	while (*list)
		forget(*list);
}
