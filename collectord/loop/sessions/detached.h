/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Remembers the processes whose session was closed while they lived. Their shims reconnect every
 * few seconds; without this list each attempt would open the session again. An entry is removed
 * when its process ends. Loop thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct event_base;
struct instance;
struct instance_identity;

struct detached; /* an element of a list; NULL is the empty list */

/*
 * Adds a process and takes over *@pidfd. A process without a pidfd is not remembered. Of more
 * than DETACHED_MAX the oldest is forgotten.
 */
void detached_add(struct detached **list, struct event_base *base,
	const struct instance_identity *identity, int *pidfd);

bool detached_has(const struct detached *list, const struct instance_identity *identity);

void detached_free(struct detached **list);
