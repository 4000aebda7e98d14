/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "shim/hsa/host_rings.h"
#include "tests/lib/test.h"

#define DESCS 5

/* A runtime: makes what it can, and says the first failure. */
static hsa_queue_t queues[16];
static unsigned queues_made, calls;
static bool has_host_memory, has_device_memory;
static uint16_t made_with[16];

static hsa_status_t create(hsa_agent_t agent, struct hsa_later_queue_desc *descs, uint32_t count)
{
	hsa_status_t first = HSA_STATUS_SUCCESS;

	(void)agent;
	calls++;
	for (uint32_t i = 0; i < count; i++) {
		hsa_status_t status = HSA_STATUS_SUCCESS;

		descs[i].queue = NULL;
		if (descs[i].queue_size_bytes == 1)
			status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
		else if (descs[i].flags ? !has_device_memory : !has_host_memory)
			status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
		if (status == HSA_STATUS_SUCCESS) {
			made_with[queues_made] = descs[i].flags;
			descs[i].queue = &queues[queues_made++];
		}
		if (first == HSA_STATUS_SUCCESS)
			first = status;
	}
	return first;
}

static void descs_fill(struct hsa_later_queue_desc descs[DESCS])
{
	queues_made = calls = 0;
	has_host_memory = has_device_memory = true;
	memset(descs, 0, DESCS * sizeof(*descs));
	for (int i = 0; i < DESCS; i++) {
		descs[i].version = HSA_LATER_DESC_VERSION;
		descs[i].queue_size_bytes = 4096;
	}
	descs[1].flags = HSA_LATER_DEVICE_RING;
	/* The queue itself in the GPU's memory, too; and an engine that copies. */
	descs[2].flags = HSA_LATER_DEVICE_RING | 2;
	descs[3].flags = HSA_LATER_DEVICE_RING;
	descs[3].engine_type = 1;
	descs[4].flags = HSA_LATER_DEVICE_RING;
}

static hsa_status_t make(
	struct hsa_later_queue_desc descs[DESCS], struct hsa_later_queue_desc **ret_copies)
{
	const hsa_agent_t agent = {7};
	struct hsa_later_queue_desc *copies = host_rings_ask(descs, DESCS);
	hsa_status_t status;

	assert_non_null(copies);
	status = create(agent, copies, DESCS);
	status = host_rings_settle(create, agent, descs, copies, DESCS, status);
	*ret_copies = copies;
	return status;
}

TEST_CASE(rings_are_asked_for_in_host_memory_by_copies)
{
	static const uint16_t asked[DESCS] = {
		0, 0, HSA_LATER_DEVICE_RING | 2, HSA_LATER_DEVICE_RING, 0};
	struct hsa_later_queue_desc descs[DESCS], before[DESCS], *copies;

	descs_fill(descs);
	memcpy(before, descs, sizeof(before));
	assert_int_equal(make(descs, &copies), HSA_STATUS_SUCCESS);
	assert_int_equal(calls, 1);
	for (int i = 0; i < DESCS; i++) {
		assert_ptr_equal(descs[i].queue, &queues[i]);
		assert_int_equal(made_with[i], asked[i]);
		assert_int_equal(copies[i].flags, asked[i]);
		/* Of the caller's nothing changes but the queue. */
		before[i].queue = descs[i].queue;
		assert_memory_equal(&descs[i], &before[i], sizeof(before[i]));
	}
	free(copies);
}

TEST_CASE(what_asks_for_no_ring_of_a_device_is_left_alone)
{
	struct hsa_later_queue_desc descs[DESCS];

	descs_fill(descs);
	descs[1].flags = descs[4].flags = 0;
	assert_null(host_rings_ask(descs, DESCS));
	assert_null(host_rings_ask(descs, 0));
}

TEST_CASE(where_host_memory_is_refused_the_caller_s_own_is_made)
{
	struct hsa_later_queue_desc descs[DESCS], *copies;

	descs_fill(descs);
	has_host_memory = false;
	/* The first one asked for host memory itself: it fails as it would. */
	assert_int_equal(make(descs, &copies), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
	assert_null(descs[0].queue);
	for (int i = 1; i < DESCS; i++)
		assert_non_null(descs[i].queue);
	assert_int_equal(copies[1].flags, HSA_LATER_DEVICE_RING);
	assert_int_equal(copies[4].flags, HSA_LATER_DEVICE_RING);
	free(copies);
	/* Without that one nothing is wrong, as the caller sees it. */
	descs_fill(descs);
	has_host_memory = false;
	descs[0].flags = HSA_LATER_DEVICE_RING;
	assert_int_equal(make(descs, &copies), HSA_STATUS_SUCCESS);
	for (int i = 0; i < DESCS; i++)
		assert_non_null(descs[i].queue);
	free(copies);
}

TEST_CASE(a_failure_of_the_caller_s_own_is_the_one_it_would_get)
{
	struct hsa_later_queue_desc descs[DESCS], *copies;

	descs_fill(descs);
	descs[1].queue_size_bytes = 1;
	descs[1].queue = &queues[15]; /* what lies there before says nothing */
	has_device_memory = false;
	assert_int_equal(make(descs, &copies), HSA_STATUS_ERROR_INVALID_ARGUMENT);
	assert_null(descs[1].queue);
	assert_null(descs[2].queue);
	assert_non_null(descs[0].queue);
	assert_non_null(descs[4].queue);
	free(copies);
}
