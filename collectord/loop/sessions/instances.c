/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/instances.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collectord/loop/sessions/instance.h"
#include "proto/base/list.h"

/* Spreads consecutive pids of one user over different buckets, and separates users. */
static unsigned bucket_of(const struct instance_identity *id)
{
	return ((uint32_t)id->pid + (uint32_t)id->uid * 2654435761u) % INSTANCES_BUCKETS;
}

void instances_add(struct instances *instances, struct instance *instance)
{
	struct instance **bucket = &instances->bucket[bucket_of(&instance->identity)];

	instance->next_in_bucket = *bucket;
	*bucket = instance;
}

void instances_remove(struct instances *instances, struct instance *instance)
{
	LIST_REMOVE(instances->bucket[bucket_of(&instance->identity)], instance, next_in_bucket);
}

struct instance *instances_find(
	const struct instances *instances, const struct instance_identity *id)
{
	struct instance *i = instances->bucket[bucket_of(id)];

	while (i && !instance_is_same(&i->identity, id))
		i = i->next_in_bucket;
	return i;
}

struct instance *instances_find_other(
	const struct instances *instances, const struct instance_identity *id, bool has_spoken)
{
	struct instance *i = instances->bucket[bucket_of(id)];

	for (; i; i = i->next_in_bucket)
		if (i->identity.pid == id->pid && i->identity.uid == id->uid &&
			i->identity.start_time == id->start_time && instance_is_live(i) &&
			(i->had_peer || !has_spoken) &&
			memcmp(i->identity.token, id->token, sizeof(id->token)) != 0)
			return i;
	return NULL;
}
