/* SPDX-License-Identifier: MIT */
#include "collectord/recorder_books.h"

#include <errno.h>
#include <stdlib.h>

#include "collectord/recording.h"
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

int recorder_log_read(struct recorder_log *log, const struct recorder_reader *reader)
{
	log->count = reader->header.define_bytes;
	log->at = 0;
	return recorder_books_read(reader, &reader->header.defines, log->count, &log->bytes);
}

void recorder_log_done(struct recorder_log *log)
{
	free(log->bytes);
	*log = (struct recorder_log){0};
}

int recorder_log_take(struct recorder_log *log, struct writer *writer, struct process *process)
{
	uint64_t at = log->at + FRAME_PREFIX_BYTES;
	Rtl__Frame *frame;
	uint32_t length;
	int r;

	if (log->at == log->count)
		return 0;
	if (log->count - log->at <= FRAME_PREFIX_BYTES)
		return -EBADMSG;
	length = frame_get_length(log->bytes + log->at);
	if (length == 0 || length > FRAME_BYTES_MAX || length > log->count - at)
		return -EBADMSG;
	r = msg_unpack(writer->arena, log->bytes + at, length, &frame);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	if (frame->body_case != RTL__FRAME__BODY_DEFINES)
		return -EBADMSG;
	r = defines_take(&process->defines, frame->defines, process->gpus);
	if (r == 0)
		r = recording_take(writer, process, frame->defines);
	log->at = at + length;
	return r < 0 ? r : 1;
}

int recorder_books_defines(
	struct writer *writer, struct process *process, const struct recorder_reader *reader)
{
	struct recorder_log log = {0};
	int r = recorder_log_read(&log, reader);

	if (r < 0)
		return r;
	do
		r = recorder_log_take(&log, writer, process);
	while (r == 1);
	recorder_log_done(&log);
	return r;
}

int recorder_books_counters(struct process *process, const struct recorder_reader *reader,
	const struct recorder_queue *queues, uint64_t count, uint64_t read_ns, bool is_last)
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

		if (!is_last && !ledger_has_room(&process->ledger, q))
			continue;
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
