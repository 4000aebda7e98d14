/* SPDX-License-Identifier: MIT
 *
 * What the shim says of itself and of its counters: hello.c and telemetry.c, read back as the
 * collector reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "shim/send/hello.h"
#include "shim/record/telemetry.h"
#include "tests/lib/test.h"

static struct msg_arena arena;
static struct identity identity;
static struct rank_info rank;
static struct agents agents;
static struct recorder recorder;
static struct telemetry telemetry;
static uint8_t buffer[TELEMETRY_BYTES_MAX];

static int setup(void **state)
{
	struct recorder_identity identity_of_recorder = {.pid = 1};

	(void)state;
	memset(&identity, 0, sizeof(identity));
	memset(&rank, 0, sizeof(rank));
	memset(&agents, 0, sizeof(agents));
	memset(&telemetry, 0, sizeof(telemetry));
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	return recorder_create(&identity_of_recorder, &recorder);
}

static int teardown(void **state)
{
	(void)state;
	msg_arena_done(&arena);
	recorder_close(&recorder);
	return 0;
}

static const Rtl__Hello *hello_read(size_t *ret_bytes)
{
	struct hello hello = {.identity = &identity,
		.rank = &rank,
		.agents = &agents,
		.front_end = "shadow",
		.mode = ""};
	uint8_t *frame = hello_encode(&hello, ret_bytes);
	Rtl__Frame *unpacked;

	assert_non_null(frame);
	assert_int_equal(frame_get_length(frame) + FRAME_PREFIX_BYTES, *ret_bytes);
	assert_int_equal(msg_unpack(&arena, frame + FRAME_PREFIX_BYTES,
				 *ret_bytes - FRAME_PREFIX_BYTES, &unpacked),
		0);
	free(frame);
	assert_int_equal(unpacked->body_case, RTL__FRAME__BODY_HELLO);
	return unpacked->hello;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(what_is_unknown_is_absent)
{
	const Rtl__Hello *hello;
	size_t bytes;

	hello = hello_read(&bytes);
	assert_false(hello->has_rank);
	assert_false(hello->has_local_rank);
	assert_false(hello->has_job);
	assert_false(hello->has_launcher);
	assert_false(hello->has_mode);
	assert_true(hello->has_token && hello->token.len == 16);
	rank.rank = (struct rank_number){true, 0};
	hello = hello_read(&bytes);
	assert_true(hello->has_rank);
	assert_int_equal(hello->rank, 0);
}

CASE(the_largest_node_fits)
{
	const Rtl__Hello *hello;
	size_t bytes;

	memset(identity.command, 'c', sizeof(identity.command) - 1);
	memset(identity.exe, 'e', sizeof(identity.exe) - 1);
	memset(identity.host, 'h', sizeof(identity.host) - 1);
	memset(rank.job, 'j', sizeof(rank.job) - 1);
	agents.count = RECORDER_GPUS;
	for (uint32_t i = 0; i < RECORDER_GPUS; i++) {
		memset(&agents.gpu[i], 0xff, sizeof(agents.gpu[i]));
		memset(agents.gpu[i].name, 'n', 63);
		memset(agents.gpu[i].gfx, 'g', 63);
		agents.gpu[i].name[63] = agents.gpu[i].gfx[63] = '\0';
		agents.gpu[i].gpu_id = i;
	}
	hello = hello_read(&bytes);
	assert_true(bytes - FRAME_PREFIX_BYTES <= HELLO_BYTES_MAX);
	assert_int_equal(hello->n_gpus, RECORDER_GPUS);
	assert_int_equal(hello->gpus[63]->gpu_id, 63);
	assert_int_equal(hello->job.len, LABEL_BYTES_MAX - 1);
}

struct counts {
	unsigned anchors, queues, frames;
	uint64_t last_tick, dispatched, connects;
};

static struct counts telemetry_read(bool is_whole)
{
	size_t bytes = telemetry_encode(&telemetry, &recorder, is_whole, buffer);
	const uint8_t *at = buffer;
	struct counts counts = {0};

	while (bytes) {
		uint32_t length = frame_get_length(at);
		Rtl__Frame *frame;

		assert_true(length + FRAME_PREFIX_BYTES <= bytes);
		assert_true(length <= FRAME_BYTES_MAX);
		assert_int_equal(msg_unpack(&arena, at + FRAME_PREFIX_BYTES, length, &frame), 0);
		counts.frames++;
		if (frame->body_case == RTL__FRAME__BODY_ANCHORS) {
			counts.anchors += (unsigned)frame->anchors->n_anchors;
			counts.last_tick =
				frame->anchors->anchors[frame->anchors->n_anchors - 1]->tick;
		} else {
			assert_int_equal(frame->body_case, RTL__FRAME__BODY_COUNTERS);
			assert_int_equal(frame->counters->n_process, RTL_P_COUNT);
			counts.connects = frame->counters->process[RTL_P_connects];
			for (size_t i = 0; i < frame->counters->n_queues; i++)
				counts.dispatched +=
					frame->counters->queues[i]->value[RTL_Q_dispatched];
			counts.queues += (unsigned)frame->counters->n_queues;
		}
		at += FRAME_PREFIX_BYTES + length;
		bytes -= FRAME_PREFIX_BYTES + length;
	}
	return counts;
}

CASE(only_what_changed_is_sent_and_all_of_it_to_a_new_collector)
{
	struct counts counts;

	atomic_store(&recorder.header->queues_used, 3);
	recorder_count_queue(&recorder.queues[1], RTL_Q_dispatched, 7);
	recorder_anchor_add(&recorder, 0, &(struct recorder_anchor){11, 22, 33, 44});
	counts = telemetry_read(true);
	assert_int_equal(counts.anchors, 1);
	assert_int_equal(counts.queues, 3);
	assert_int_equal(counts.dispatched, 7);

	assert_int_equal(telemetry_read(false).frames, 0);
	recorder_count(&recorder, RTL_P_connects, 2);
	counts = telemetry_read(false);
	assert_int_equal(counts.frames, 1);
	assert_int_equal(counts.connects, 2);
	assert_int_equal(counts.queues, 0);
	recorder_count_queue(&recorder.queues[2], RTL_Q_recorded, 1);
	assert_int_equal(telemetry_read(false).queues, 1);

	for (uint64_t i = 0; i < 40; i++)
		recorder_anchor_add(&recorder, 0, &(struct recorder_anchor){100 + i, 1, 1, 1});
	counts = telemetry_read(false);
	assert_int_equal(counts.anchors, RECORDER_ANCHORS);
	assert_int_equal(counts.last_tick, 139);
	counts = telemetry_read(true);
	assert_int_equal(counts.anchors, RECORDER_ANCHORS);
	assert_int_equal(counts.queues, 3);
}

CASE(every_queue_with_its_largest_numbers_fits)
{
	struct counts counts;

	atomic_store(&recorder.header->queues_used, RECORDER_QUEUES);
	for (uint32_t q = 0; q < RECORDER_QUEUES; q++)
		for (int i = 0; i < RTL_Q_COUNT; i++)
			recorder_count_queue(&recorder.queues[q], i, UINT64_MAX / 2 + q);
	for (uint32_t gpu = 0; gpu < RECORDER_GPUS; gpu++)
		for (uint32_t i = 0; i < RECORDER_ANCHORS; i++)
			recorder_anchor_add(&recorder, gpu,
				&(struct recorder_anchor){
					UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX});
	counts = telemetry_read(true);
	assert_int_equal(counts.queues, RECORDER_QUEUES);
	assert_int_equal(counts.anchors, RECORDER_GPUS * RECORDER_ANCHORS);
}
