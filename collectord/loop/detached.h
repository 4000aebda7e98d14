/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Processes whose session was closed while they lived. Their shims try again every few
 * seconds; without a memory of them each try would open that session once more. Each is
 * forgotten when it ends. Loop thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct event_base;
struct instance;
struct instance_identity;

struct detached; /* a list; NULL is empty */

/* Takes @pidfd over when it remembers; a process without a pidfd is not remembered. Of so many that count
 * as @owner's (DETACHED_MAX) the oldest one is forgotten. */
void detached_add(struct detached **list, struct event_base *base,
	const struct instance_identity *identity, uid_t owner, int *pidfd);

bool detached_has(const struct detached *list, const struct instance_identity *identity);

void detached_free(struct detached **list);
