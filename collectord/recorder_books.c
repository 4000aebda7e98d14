/* SPDX-License-Identifier: MIT */
#include "collectord/recorder_books.h"

#include <errno.h>
#include <stdlib.h>

#include "collectord/recording.h"
#include "proto/cleanup.h"
#include "proto/clock.h"
#include "proto/frame.h"
#include "proto/limits.h"

int recorder_books_read(const struct recorder_reader *reader, const struct recorder_region *region,
	uint64_t count, void *ret_array)
{
	void *array = calloc(count ? count : 1, region->stride);
	int r;

	if (!array)
		return -ENOMEM;
	r = recorder_reader_get(reader, region, 0, count, array);
	if (r < 0) {
		free(array);
		return r;
	}
	*(void **)ret_array = array;
	return 0;
}

static int take_log(
	struct writer *writer, struct process *process, const uint8_t *log, uint64_t bytes)
{
	uint64_t at = 0;
	Rtl__Frame *frame;
	int r;

	while (bytes - at > FRAME_PREFIX_BYTES) {
		uint32_t length = frame_get_length(log + at);

		at += FRAME_PREFIX_BYTES;
		if (length == 0 || length > FRAME_BYTES_MAX || length > bytes - at)
			return -EBADMSG;
		r = msg_unpack(writer->arena, log + at, length, &frame);
		if (r < 0)
			return r == -ENOMEM ? r : -EBADMSG;
		if (frame->body_case != RTL__FRAME__BODY_DEFINES)
			return -EBADMSG;
		r = defines_take(&process->defines, frame->defines, process->gpus);
		if (r == 0)
			r = recording_take(writer, process, frame->defines);
		if (r < 0)
			return r;
		at += length;
	}
	return at == bytes ? 0 : -EBADMSG;
}

int recorder_books_defines(
	struct writer *writer, struct process *process, const struct recorder_reader *reader)
{
	uint64_t bytes = reader->header.define_bytes;
	CLEANUP(free_p) uint8_t *log = NULL;
	int r = recorder_books_read(reader, &reader->header.defines, bytes, &log);

	return r < 0 ? r : take_log(writer, process, log, bytes);
}

int recorder_books_counters(struct process *process, const struct recorder_reader *reader,
	const struct recorder_queue *queues, uint64_t count, uint64_t read_ns)
{
	uint64_t value[(int)RTL_P_COUNT > (int)RTL_Q_COUNT ? RTL_P_COUNT : RTL_Q_COUNT];
	int r;

	ledger_begin_reading(&process->ledger, read_ns, clock_boottime_ns());
	for (unsigned i = 0; i < RTL_P_COUNT; i++)
		value[i] = reader->header.process[i];
	r = ledger_take_process(&process->ledger, value, RTL_P_COUNT);
	for (uint32_t q = 0; r == 0 && q < count; q++) {
		const struct recorder_queue *queue = &queues[q];
		bool has_gpu = queue->gpu < process->gpus;

		for (unsigned i = 0; i < RTL_Q_PRODUCER_COUNT; i++)
			value[i] = queue->producer[i];
		for (unsigned i = RTL_Q_HARVESTER_FIRST; i < RTL_Q_COUNT; i++)
			value[i] = queue->harvester[i - RTL_Q_HARVESTER_FIRST];
		if (queue->in_use || value[RTL_Q_dispatched])
			r = ledger_take_queue(&process->ledger, q, has_gpu,
				has_gpu ? process->gpu_id[queue->gpu] : 0, value, RTL_Q_COUNT);
	}
	return r;
}
