/* SPDX-License-Identifier: MIT */
/* An instance is found among many that share its pid, its uid or its bucket. */
#include <stdlib.h>

#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/sessions/instances.h"
#include "tests/lib/test.h"

#define MANY 512u

static struct instances *instances;
static struct instance many[MANY];

static int set_up(void **state)
{
	(void)state;
	instances = calloc(1, sizeof(*instances));
	for (unsigned i = 0; i < MANY; i++)
		many[i] = (struct instance){0};
	return instances ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(instances);
	return 0;
}

/* Two of each pid and start time, by another token; every eighth of them a bucket's only. */
static void add_many(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		struct instance_identity *id = &many[i].identity;

		id->uid = 1000 + i / 2 % 2;
		id->pid = (pid_t)(i / 16 + 1 + i / 4 % 2 * INSTANCES_BUCKETS);
		id->start_time = i / 8 % 2;
		id->token[0] = (uint8_t)(i % 2);
		instances_add(instances, &many[i]);
	}
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, set_up, tear_down)

CASE(each_is_found_as_itself)
{
	add_many();
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(instances_find(instances, &many[i].identity), &many[i]);
}

CASE(a_removed_instance_is_not_found_and_the_others_are)
{
	add_many();
	for (unsigned i = 0; i < MANY; i += 3)
		instances_remove(instances, &many[i]);
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(
			instances_find(instances, &many[i].identity), i % 3 ? &many[i] : NULL);
}

CASE(another_of_a_pid_is_live_and_has_another_token)
{
	add_many();
	for (unsigned i = 0; i < MANY; i++) {
		struct instance *other = &many[i ^ 1u];

		assert_ptr_equal(instances_find_other(instances, &many[i].identity, false), other);
		assert_null(instances_find_other(instances, &many[i].identity, true));
		other->had_peer = true;
		assert_ptr_equal(instances_find_other(instances, &many[i].identity, true), other);
		other->state = INSTANCE_DYING;
		assert_null(instances_find_other(instances, &many[i].identity, false));
		*other = (struct instance){
			.identity = other->identity, .next_in_bucket = other->next_in_bucket};
	}
}
