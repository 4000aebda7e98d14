/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * All processes that the server knows, by pid and uid: who says Hello is looked for among those of
 * its pid, not among all that there ever were of all tenants. Holds nothing; a process is in here
 * as long as in its session. Loop thread.
 */
#include <stdbool.h>

struct instance;
struct instance_identity;

/* Of one user at most PROCESSES_PER_UID_MAX fall into them. */
#define INSTANCES_BUCKETS 16384u

struct instances {
	struct instance *bucket[INSTANCES_BUCKETS];
};

void instances_add(struct instances *instances, struct instance *instance);
void instances_remove(struct instances *instances, struct instance *instance);

/* The process of that identity, or NULL. */
struct instance *instances_find(
	const struct instances *instances, const struct instance_identity *id);

/* A live process of that pid with another token; @has_spoken: which said Hello to us. Or NULL. */
struct instance *instances_find_other(
	const struct instances *instances, const struct instance_identity *id, bool has_spoken);
