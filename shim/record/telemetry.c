/* SPDX-License-Identifier: MIT */
#include "shim/record/telemetry.h"

#include <string.h>

#include "proto/base/clock.h"
#include "proto/wire/msg.h"

/* 128 queues with 24 counters each take at most 31 KiB. */
#define QUEUES_PER_FRAME 128u
static_assert(QUEUES_PER_FRAME * RTL_Q_COUNT * 11 < FRAME_BYTES_MAX, "counters of one frame");
static_assert(RECORDER_QUEUES * RTL_Q_COUNT * 11 + RECORDER_GPUS * RECORDER_ANCHORS * 64 <
		      TELEMETRY_BYTES_MAX,
	"all counters and anchors");

static size_t anchors_encode(
	struct telemetry *telemetry, const struct recorder *recorder, uint8_t *at)
{
	Rtl__Anchor anchor[RECORDER_ANCHORS];
	Rtl__Anchor *list[RECORDER_ANCHORS];
	size_t used = 0;

	for (uint32_t gpu = 0; gpu < RECORDER_GPUS; gpu++) {
		const struct recorder_anchors *ring = &recorder->anchors[gpu];
		uint64_t count = atomic_load_explicit(&ring->count, memory_order_relaxed);
		uint64_t from = telemetry->anchors_sent[gpu];
		Rtl__Anchors message = RTL__ANCHORS__INIT;
		Rtl__Frame frame = RTL__FRAME__INIT;

		if (count - from > RECORDER_ANCHORS)
			from = count - RECORDER_ANCHORS;
		for (; from < count; from++) {
			const struct recorder_anchor *entry = &ring->entry[from % RECORDER_ANCHORS];
			Rtl__Anchor *item = &anchor[message.n_anchors];

			rtl__anchor__init(item);
			item->has_gpu = item->has_tick = 1;
			item->has_boottime_ns = item->has_realtime_ns = 1;
			item->gpu = gpu;
			item->tick = entry->tick;
			item->boottime_ns = entry->boottime_ns;
			item->realtime_ns = entry->realtime_ns;
			item->has_error_ns = entry->error_ns != 0;
			item->error_ns = entry->error_ns;
			item->has_tick_hz = ring->tick_hz != 0;
			item->tick_hz = ring->tick_hz;
			list[message.n_anchors++] = item;
		}
		telemetry->anchors_sent[gpu] = count;
		if (!message.n_anchors)
			continue;
		message.anchors = list;
		frame.body_case = RTL__FRAME__BODY_ANCHORS;
		frame.anchors = &message;
		used += msg_pack(&frame, at + used);
	}
	return used;
}

/* Reads the counters of queue @index into @values, and returns their sum. */
static uint64_t queue_read(const struct recorder *recorder, uint32_t index, uint64_t *values)
{
	uint64_t sum = 0;

	for (int i = 0; i < RTL_Q_COUNT; i++) {
		values[i] = recorder_queue_value(&recorder->queues[index], i);
		sum += values[i];
	}
	return sum;
}

static uint64_t process_read(const struct recorder *recorder, uint64_t *values)
{
	uint64_t sum = 0;

	for (int i = 0; i < RTL_P_COUNT; i++) {
		values[i] =
			atomic_load_explicit(&recorder->header->process[i], memory_order_relaxed);
		/*
		 * Weighted, because not all process counters only rise, and in a plain sum changes
		 * could cancel out.
		 */
		sum = sum * 31 + values[i];
	}
	return sum;
}

struct counters_frame {
	uint64_t process[RTL_P_COUNT];
	uint64_t values[QUEUES_PER_FRAME][RTL_Q_COUNT];
	Rtl__QueueCounters queue[QUEUES_PER_FRAME];
	Rtl__QueueCounters *list[QUEUES_PER_FRAME];
};

static void queue_add(struct counters_frame *work, Rtl__Counters *message,
	const struct recorder *recorder, uint32_t index)
{
	Rtl__QueueCounters *item = &work->queue[message->n_queues];

	rtl__queue_counters__init(item);
	item->has_queue = item->has_gpu = 1;
	item->queue = index;
	item->gpu = recorder->queues[index].gpu;
	item->n_value = RTL_Q_COUNT;
	item->value = work->values[message->n_queues];
	work->list[message->n_queues++] = item;
}

/* Every Counters frame contains the process counters: absent would not mean unchanged. */
static size_t counters_encode(
	struct telemetry *telemetry, const struct recorder *recorder, bool is_whole, uint8_t *at)
{
	uint64_t begun_ns = clock_boottime_ns();
	struct counters_frame work;
	uint32_t queues = recorder_queues_used(recorder);
	uint64_t process_sum = process_read(recorder, work.process);
	bool is_due = is_whole || process_sum != telemetry->process_sum;
	uint32_t index = 0;
	size_t used = 0;

	telemetry->process_sum = process_sum;
	while (is_due || index < queues) {
		Rtl__Counters message = RTL__COUNTERS__INIT;
		Rtl__Frame frame = RTL__FRAME__INIT;

		for (; index < queues && message.n_queues < QUEUES_PER_FRAME; index++) {
			uint64_t sum = queue_read(recorder, index, work.values[message.n_queues]);

			if (!is_whole && sum == telemetry->queue_sum[index])
				continue;
			telemetry->queue_sum[index] = sum;
			queue_add(&work, &message, recorder, index);
		}
		if (!is_due && !message.n_queues)
			break;
		is_due = false;
		message.process = work.process;
		message.n_process = RTL_P_COUNT;
		message.queues = work.list;
		message.has_time_ns = message.has_took_ns = 1;
		message.time_ns = begun_ns;
		message.took_ns = clock_boottime_ns() - begun_ns;
		frame.body_case = RTL__FRAME__BODY_COUNTERS;
		frame.counters = &message;
		used += msg_pack(&frame, at + used);
	}
	return used;
}

size_t telemetry_encode(
	struct telemetry *telemetry, const struct recorder *recorder, bool is_whole, uint8_t *at)
{
	size_t used;

	if (is_whole)
		memset(telemetry, 0, sizeof(*telemetry));
	used = anchors_encode(telemetry, recorder, at);
	return used + counters_encode(telemetry, recorder, is_whole, at + used);
}
