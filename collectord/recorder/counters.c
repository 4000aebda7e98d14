/* SPDX-License-Identifier: MIT */
#include "collectord/recorder/counters.h"

#include <errno.h>
#include <stdlib.h>

#include "collectord/ingest/process/ranks.h"
#include "collectord/ingest/process/recording_intervals.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"

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

/* Decodes the frame at *@at of the @count bytes of the log, and moves *@at behind it. */
static int take_frame(struct writer *writer, struct process *process, const uint8_t *log,
	uint64_t count, uint64_t *at)
{
	uint64_t begin = *at + FRAME_PREFIX_BYTES;
	Rtl__Frame *frame;
	uint32_t length;
	int r;

	if (count - *at <= FRAME_PREFIX_BYTES)
		return -EBADMSG;
	length = frame_get_length(log + *at);
	if (length == 0 || length > FRAME_BYTES_MAX || length > count - begin)
		return -EBADMSG;
	r = msg_unpack(writer->arena, log + begin, length, &frame);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	if (frame->body_case != RTL__FRAME__BODY_DEFINES)
		return -EBADMSG;
	*at = begin + length;
	r = defines_take(&process->defines, frame->defines, process->gpus);
	if (r == 0)
		r = recording_take(writer, process, frame->defines);
	return r == 0 ? ranks_take(writer, process, frame->defines) : r;
}

int recorder_books_defines(
	struct writer *writer, struct process *process, const struct recorder_reader *reader)
{
	CLEANUP(free_p) uint8_t *log = NULL;
	uint64_t count = reader->header.define_bytes, at = 0;
	int r = recorder_books_read(reader, &reader->header.defines, count, &log);

	while (r == 0 && at < count)
		r = take_frame(writer, process, log, count, &at);
	return r;
}

int recorder_books_process(
	struct process *process, const struct recorder_reader *reader, uint64_t read_ns)
{
	uint64_t value[RTL_P_COUNT];

	ledger_begin_reading(&process->ledger, read_ns, clock_boottime_ns());
	for (unsigned i = 0; i < RTL_P_COUNT; i++)
		value[i] = reader->header.process[i];
	return ledger_take_process(&process->ledger, value, RTL_P_COUNT);
}

int recorder_books_queue(struct process *process, const struct recorder_queue *queue, uint32_t id)
{
	uint64_t value[RTL_Q_COUNT];
	bool has_gpu = queue->gpu < process->gpus;

	for (unsigned i = 0; i < RTL_Q_PRODUCER_COUNT; i++)
		value[i] = queue->producer[i];
	for (unsigned i = RTL_Q_HARVESTER_FIRST; i < RTL_Q_COUNT; i++)
		value[i] = queue->harvester[i - RTL_Q_HARVESTER_FIRST];
	if (!queue->in_use && !value[RTL_Q_dispatched])
		return 0;
	return ledger_take_queue(&process->ledger, id, has_gpu,
		has_gpu ? process->gpu_id[queue->gpu] : 0, value, RTL_Q_COUNT);
}

int recorder_books_counters(struct process *process, const struct recorder_reader *reader,
	const struct recorder_queue *queues, uint64_t count, uint64_t read_ns)
{
	int r = recorder_books_process(process, reader, read_ns);

	for (uint32_t q = 0; r == 0 && q < count; q++)
		if (ledger_has_room(&process->ledger, q))
			r = recorder_books_queue(process, &queues[q], q);
	return r;
}
