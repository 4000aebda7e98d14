/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Index of all processes that the server knows, by pid and uid, so that a Hello is compared with
 * the processes of one bucket and not with those of all tenants. It owns nothing; a process is in
 * the index as long as it is in its session. Loop thread.
 */
#include <stdbool.h>

struct instance;
struct instance_identity;

/* Number of buckets; one user has at most PROCESSES_PER_UID_MAX processes in them. */
#define INSTANCES_BUCKETS 16384u

struct instances {
	struct instance *bucket[INSTANCES_BUCKETS];
};

void instances_add(struct instances *instances, struct instance *instance);
void instances_remove(struct instances *instances, struct instance *instance);

/* Returns the process with that identity, or NULL. */
struct instance *instances_find(
	const struct instances *instances, const struct instance_identity *id);

/*
 * Returns a live process of the same pid with another token, or NULL. If @has_spoken, only a
 * process that has said Hello to this collector counts.
 */
struct instance *instances_find_other(
	const struct instances *instances, const struct instance_identity *id, bool has_spoken);
