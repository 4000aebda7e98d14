/* SPDX-License-Identifier: MIT */
#include "tests/shim/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/recorder/checksum.h"
#include "proto/base/limits.h"
#include "proto/recorder/layout.h"

#define BROKEN(...)                                                                                \
	(fprintf(stderr, "the shim broke a rule: " __VA_ARGS__), fputc('\n', stderr), -EPROTO)

int test_listen(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 64)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

int test_send(int fd, const Rtl__Frame *frame)
{
	size_t bytes;
	uint8_t *packed = msg_pack_new(frame, &bytes);
	ssize_t sent;

	if (!packed)
		return -ENOMEM;
	sent = send(fd, packed, bytes, MSG_NOSIGNAL);
	free(packed);
	return sent == (ssize_t)bytes ? 0 : -EIO;
}

void test_connection_open(struct test_connection *connection, int fd)
{
	memset(connection, 0, sizeof(*connection));
	connection->fd = fd;
	frame_reader_init(&connection->reader, HELLO_BYTES_MAX);
}

void test_connection_close(struct test_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
	frame_reader_done(&connection->reader);
}

/* ---- Hello ------------------------------------------------------------------------------ */

static void text_copy(char *to, size_t room, int has, const ProtobufCBinaryData *from)
{
	size_t bytes = has ? from->len : 0;

	if (bytes > room - 1)
		bytes = room - 1;
	if (bytes)
		memcpy(to, from->data, bytes);
	to[bytes] = '\0';
}

static struct test_process *process_get(struct test_collector *collector, const Rtl__Hello *hello)
{
	struct test_process *process;

	for (unsigned i = 0; i < collector->processes; i++)
		if (!memcmp(collector->process[i]->token, hello->token.data, 16))
			return collector->process[i];
	if (collector->processes == TEST_PROCESSES_MAX)
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->shapes = calloc(TEST_SHAPES_MAX, sizeof(*process->shapes));
	process->symbol_name = calloc(PROCESS_SYMBOLS_MAX, sizeof(*process->symbol_name));
	process->strings = calloc(TEST_STRINGS_MAX, sizeof(*process->strings));
	process->recorder = -1;
	memcpy(process->token, hello->token.data, 16);
	return collector->process[collector->processes++] = process;
}

void test_process_free(struct test_process *process)
{
	for (unsigned i = 0; i < TEST_STRINGS_MAX; i++)
		free(process->strings[i]);
	free(process->strings);
	free(process->shapes);
	free(process->symbol_name);
	free(process->rows);
	for (size_t i = 0; i < process->marker_count; i++)
		free(process->markers[i].text);
	free(process->markers);
	if (process->recorder >= 0)
		close(process->recorder);
	free(process);
}

static int hello_take(struct test_collector *collector, struct test_connection *connection,
	const Rtl__Hello *hello, int recorder)
{
	Rtl__Welcome welcome = RTL__WELCOME__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct test_process *process;
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);

	if (!hello->has_token || hello->token.len != 16 || !hello->has_boot_id ||
		hello->boot_id.len != 16 || !hello->has_start_time || hello->version_min != 1)
		return BROKEN("Hello is incomplete");
	if (hello->has_unrecorded) {
		collector->unrecorded++;
		return recorder < 0 ? 1 : BROKEN("a recorder that is none");
	}
	if (recorder < 0)
		return BROKEN("Hello without a recorder");
	process = process_get(collector, hello);
	if (!process)
		return -ENOMEM;
	getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
	process->pid = peer.pid;
	process->rank = hello->has_rank ? (int64_t)hello->rank : -1;
	text_copy(process->job, sizeof(process->job), hello->has_job, &hello->job);
	text_copy(process->launcher, sizeof(process->launcher), hello->has_launcher,
		&hello->launcher);
	text_copy(process->runtime, sizeof(process->runtime), hello->has_runtime, &hello->runtime);
	process->gpus = 0;
	for (size_t i = 0; i < hello->n_gpus && i < 64; i++) {
		process->gpu_id[process->gpus] = hello->gpus[i]->gpu_id;
		process->tick_hz[process->gpus++] = hello->gpus[i]->tick_hz;
	}
	if (process->recorder >= 0)
		close(process->recorder);
	process->recorder = recorder;
	process->connections++;
	process->anchors = 0;
	connection->process = process;
	connection->reader.limit = FRAME_BYTES_MAX;

	welcome.has_version = welcome.has_last_frame = 1;
	welcome.version = 1;
	welcome.last_frame = process->hw;
	frame.body_case = RTL__FRAME__BODY_WELCOME;
	frame.welcome = &welcome;
	/* A process that has ended needs no answer; its recorder is here. */
	(void)test_send(connection->fd, &frame);
	return 0;
}

/* ---- what a shim says -------------------------------------------------------------------- */

static int defines_take(struct test_process *process, const Rtl__Defines *defines)
{
	for (size_t i = 0; i < defines->n_strings; i++) {
		const Rtl__StringDef *string = defines->strings[i];

		if (!string->id || string->id >= TEST_STRINGS_MAX)
			return BROKEN("string id %u", string->id);
		free(process->strings[string->id]);
		process->strings[string->id] =
			strndup((const char *)string->text.data, string->text.len);
	}
	for (size_t i = 0; i < defines->n_symbols; i++) {
		const Rtl__SymbolDef *symbol = defines->symbols[i];

		if (!symbol->id || symbol->id >= PROCESS_SYMBOLS_MAX)
			return BROKEN("symbol id %u", symbol->id);
		if (symbol->has_name && !process->strings[symbol->name])
			return BROKEN("symbol %u before its name", symbol->id);
		process->symbol_name[symbol->id] = symbol->has_name ? symbol->name : 0;
	}
	for (size_t i = 0; i < defines->n_shapes; i++) {
		const Rtl__ShapeDef *shape = defines->shapes[i];

		if (shape->id >= TEST_SHAPES_MAX || !shape->symbol || shape->gpu >= process->gpus)
			return BROKEN("shape %u: symbol %u, gpu %u", shape->id, shape->symbol,
				shape->gpu);
		process->shapes[shape->id] =
			(struct test_shape){shape->gpu, shape->queue, shape->symbol};
	}
	return 0;
}

static void *room_make(void *items, size_t count, size_t *room, size_t bytes)
{
	while (count + FRAME_RECORDS_MAX > *room) {
		*room = *room ? *room * 2 : 4096;
		items = realloc(items, *room * bytes);
	}
	return items;
}

static int dispatches_take(struct test_process *process, const Rtl__Dispatches *d)
{
	size_t tid_run = 0, marker_run = 0, untimed = 0, long_duration = 0, long_submit = 0;
	uint64_t seq = UINT64_MAX;

	if (!process->anchors)
		return BROKEN("records before any anchor");
	process->rows = room_make(
		process->rows, process->row_count, &process->row_room, sizeof(*process->rows));
	for (uint32_t i = 0; i < d->n; i++) {
		struct test_row *row = &process->rows[process->row_count++];
		uint64_t duration = d->duration_ticks[i];

		while (tid_run + 1 < d->n_tid_from && d->tid_from[tid_run + 1] <= i)
			tid_run++;
		while (marker_run + 1 < d->n_marker_from && d->marker_from[marker_run + 1] <= i)
			marker_run++;
		if (duration == UINT32_MAX)
			duration = d->long_duration[long_duration++];
		seq += (uint64_t)d->seq[i] + 1;
		*row = (struct test_row){.shape = d->shape[i],
			.seq = seq,
			.start_tick = d->start_tick[i],
			.end_tick = d->start_tick[i] + duration};
		row->submit_ns =
			d->submit_delta_ns[i] == INT32_MIN
				? d->long_submit_ns[long_submit++]
				: d->submit_base_ns + (uint64_t)(int64_t)d->submit_delta_ns[i];
		if (d->n_tid_from && d->tid_from[tid_run] <= i)
			row->tid = d->tid[tid_run];
		if (d->n_marker_from && d->marker_from[marker_run] <= i)
			row->marker = d->marker[marker_run];
		if (untimed < d->n_untimed_at && d->untimed_at[untimed] == i)
			row->untimed = d->untimed_why[untimed++];
		if (row->shape >= TEST_SHAPES_MAX || !process->shapes[row->shape].symbol)
			return BROKEN("shape %u was not defined", row->shape);
	}
	return 0;
}

static char *text_of(
	const struct test_process *process, const Rtl__Markers *m, uint32_t i, size_t *inlined)
{
	const ProtobufCBinaryData *text;

	if (m->text[i] != RTL_MARKER_TEXT_INLINE)
		return process->strings[m->text[i]] ? strdup(process->strings[m->text[i]]) : NULL;
	text = &m->inline_text[(*inlined)++];
	return strndup((const char *)text->data, text->len);
}

static int markers_take(struct test_process *process, const Rtl__Markers *m)
{
	size_t inlined = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		struct test_marker *marker;

		process->markers = room_make(process->markers, process->marker_count,
			&process->marker_room, sizeof(*process->markers));
		marker = &process->markers[process->marker_count++];
		*marker = (struct test_marker){
			m->kind[i], m->tid[i], m->id[i], m->parent[i], m->time_ns[i], NULL};
		if (!m->text[i])
			continue;
		marker->text = text_of(process, m, i, &inlined);
		if (!marker->text)
			return BROKEN("a marker before its text");
	}
	return 0;
}

static int counters_take(struct test_process *process, const Rtl__Counters *counters)
{
	if (counters->n_process > RTL_P_COUNT)
		return BROKEN("%zu process counters", counters->n_process);
	for (size_t i = 0; i < counters->n_process; i++) {
		if (counters->process[i] < process->process_counter[i])
			return BROKEN("%s went down", rtl_process_counter_name[i]);
		process->process_counter[i] = counters->process[i];
	}
	for (size_t k = 0; k < counters->n_queues; k++) {
		const Rtl__QueueCounters *queue = counters->queues[k];

		if (queue->queue >= 1024 || queue->n_value > RTL_Q_COUNT)
			return BROKEN("counters of queue %u", queue->queue);
		for (size_t i = 0; i < queue->n_value; i++)
			process->queue_counter[queue->queue][i] = queue->value[i];
	}
	return 0;
}

static int ack_send(struct test_collector *collector, struct test_connection *connection)
{
	Rtl__Ack ack = RTL__ACK__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	if (collector->is_silent)
		return 0;
	ack.has_frame = 1;
	ack.frame = connection->process->hw;
	frame.body_case = RTL__FRAME__BODY_ACK;
	frame.ack = &ack;
	/* A process that has ended needs no Ack. */
	(void)test_send(connection->fd, &frame);
	return 0;
}

static int records_take(struct test_collector *collector, struct test_connection *connection,
	const Rtl__Frame *frame)
{
	struct test_process *process = connection->process;
	int r = 0;

	if (frame->number <= process->hw)
		return BROKEN("frame %llu again", (unsigned long long)frame->number);
	if (frame->number != process->hw + 1)
		return BROKEN("frame %llu after %llu", (unsigned long long)frame->number,
			(unsigned long long)process->hw);
	/* Of frames of other kinds only the number matters here. */
	if (frame->body_case == RTL__FRAME__BODY_DISPATCHES)
		r = dispatches_take(process, frame->dispatches);
	else if (frame->body_case == RTL__FRAME__BODY_MARKERS)
		r = markers_take(process, frame->markers);
	if (r)
		return r;
	process->hw = frame->number;
	connection->record_frames++;
	return ack_send(collector, connection);
}

static int frame_take(struct test_collector *collector, struct test_connection *connection,
	const Rtl__Frame *frame)
{
	struct test_process *process = connection->process;

	if (process->has_said_bye && frame->body_case != RTL__FRAME__BODY_COUNTERS)
		return BROKEN("something after Bye");
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DEFINES:
		return defines_take(process, frame->defines);
	case RTL__FRAME__BODY_DISPATCHES:
	case RTL__FRAME__BODY_MARKERS:
	case RTL__FRAME__BODY_COPIES:
	case RTL__FRAME__BODY_HOST_CALLS:
	case RTL__FRAME__BODY_COLLECTIVES:
		return records_take(collector, connection, frame);
	case RTL__FRAME__BODY_COUNTERS:
		return counters_take(process, frame->counters);
	case RTL__FRAME__BODY_CONTROL_DONE:
		process->control_seq = frame->control_done->seq;
		process->is_recording = frame->control_done->is_recording;
		return 0;
	case RTL__FRAME__BODY_ANCHORS:
		for (size_t i = 0; i < frame->anchors->n_anchors; i++)
			if (!frame->anchors->anchors[i]->boottime_ns ||
				!frame->anchors->anchors[i]->realtime_ns ||
				frame->anchors->anchors[i]->gpu >= process->gpus)
				return BROKEN("an anchor of nothing");
		process->anchors += frame->anchors->n_anchors;
		return 0;
	case RTL__FRAME__BODY_BYE:
		process->has_said_bye = true;
		return 0;
	default:
		return BROKEN("a frame of kind %d", (int)frame->body_case);
	}
}

/* ---- the recorder of a process that has ended ------------------------------------------ */

static int bytes_feed(struct test_collector *collector, struct test_process *process,
	const uint8_t *data, size_t bytes)
{
	struct test_connection none = {.fd = -1, .process = process};
	Rtl__Frame *frame;

	if (msg_unpack(&collector->arena, data, bytes, &frame))
		return BROKEN("a frame in the recorder does not unpack");
	return frame_take(collector, &none, frame);
}

static int defines_drain(struct test_collector *collector, struct test_process *process,
	const struct recorder_header *header)
{
	uint64_t left = atomic_load(&header->define_bytes);
	uint8_t *log = malloc(left + 1), *at = log;
	int r = 0;

	if (pread(process->recorder, log, left, (off_t)header->defines.offset) != (ssize_t)left)
		r = BROKEN("the define log cannot be read");
	while (!r && left) {
		uint32_t bytes = left >= 4 ? frame_get_length(at) : UINT32_MAX;

		if (bytes > left - 4)
			r = BROKEN("the define log ends within a frame");
		else
			r = bytes_feed(collector, process, at + 4, bytes);
		at += 4 + (size_t)bytes;
		left -= r ? 0 : 4 + (uint64_t)bytes;
	}
	free(log);
	return r;
}

static int cells_drain(struct test_collector *collector, struct test_process *process,
	const struct recorder_header *header)
{
	uint8_t *cell = malloc(header->cells.stride);
	const struct recorder_cell *head = (const struct recorder_cell *)cell;
	int r = 0;

	while (!r) {
		uint64_t number = process->hw + 1;
		off_t offset = (off_t)(header->cells.offset +
				       number % header->cells.count * header->cells.stride);

		if (pread(process->recorder, cell, header->cells.stride, offset) !=
				(ssize_t)header->cells.stride ||
			atomic_load(&head->number) != number)
			break;
		if (checksum32(head + 1, head->length, number) != head->checksum)
			r = BROKEN("frame %llu is torn", (unsigned long long)number);
		else
			r = bytes_feed(collector, process, (const uint8_t *)(head + 1) + 4,
				head->length - 4);
	}
	free(cell);
	return r;
}

int test_process_drain(struct test_collector *collector, struct test_process *process,
	uint64_t *ret_done, uint64_t *ret_submitted)
{
	struct recorder_header header;
	struct recorder_slot slot;
	int r;

	*ret_done = *ret_submitted = 0;
	process->has_said_bye = false;
	collector->is_silent = true;
	if (pread(process->recorder, &header, sizeof(header), 0) != sizeof(header) ||
		header.magic != RECORDER_MAGIC || !atomic_load(&header.ready))
		return BROKEN("the recorder has no header");
	process->anchors += 1; /* the anchors are in the recorder, too */
	r = defines_drain(collector, process, &header);
	if (!r)
		r = cells_drain(collector, process, &header);
	for (uint64_t i = 0; !r && i < atomic_load(&header.slots_used); i++) {
		off_t offset = (off_t)(header.slots.offset + i * header.slots.stride);
		uint64_t frame;

		if (pread(process->recorder, &slot, sizeof(slot), offset) != sizeof(slot))
			return BROKEN("slot %llu", (unsigned long long)i);
		frame = atomic_load(&slot.frame);
		if (frame && frame <= process->hw)
			continue;
		*ret_done += atomic_load(&slot.state) == SLOT_DONE ||
			     atomic_load(&slot.state) == SLOT_ENDED;
		*ret_submitted += atomic_load(&slot.state) == SLOT_SUBMITTED;
	}
	for (int i = 0; i < RTL_P_COUNT; i++)
		process->process_counter[i] = atomic_load(&header.process[i]);
	for (uint64_t q = 0; !r && q < atomic_load(&header.queues_used) && q < 1024; q++) {
		struct recorder_queue block;

		if (pread(process->recorder, &block, sizeof(block),
			    (off_t)(header.queues.offset + q * header.queues.stride)) !=
			sizeof(block))
			return BROKEN("queue %llu", (unsigned long long)q);
		for (int i = 0; i < RTL_Q_COUNT; i++)
			process->queue_counter[q][i] =
				i < RTL_Q_PRODUCER_COUNT
					? atomic_load(&block.producer[i])
					: atomic_load(&block.harvester[i - RTL_Q_HARVESTER_FIRST]);
	}
	return r;
}

/* ---- the socket ---------------------------------------------------------------------------- */

/*
 * Returns bytes, 0 if the peer hung up, or -errno. *ret_fd is the descriptor that was passed, or
 * -1.
 */
static ssize_t bytes_take(int socket, void *to, size_t room, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 4)];
		struct cmsghdr align;
	} control;
	struct iovec vector = {to, room};
	struct msghdr message = {.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	*ret_fd = -1;
	do
		got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return got;
}

int test_connection_step(struct test_collector *collector, struct test_connection *connection)
{
	for (;;) {
		size_t room, bytes, cursor = 0;
		const uint8_t *data;
		uint8_t *at;
		int recorder = -1, r;
		ssize_t got;

		r = frame_reader_space(&connection->reader, &at, &room);
		if (r)
			return r;
		got = bytes_take(connection->fd, at, room, &recorder);
		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return 1;
		frame_reader_filled(&connection->reader, (size_t)got);
		while ((r = frame_reader_next(&connection->reader, &cursor, &data, &bytes)) > 0) {
			Rtl__Frame *frame;

			r = msg_unpack(&collector->arena, data, bytes, &frame);
			if (r)
				return BROKEN("a frame that does not unpack (%d)", r);
			if (connection->process)
				r = frame_take(collector, connection, frame);
			else if (frame->body_case == RTL__FRAME__BODY_HELLO)
				r = hello_take(collector, connection, frame->hello, recorder);
			else
				r = BROKEN("no Hello first");
			if (r)
				return r;
		}
		if (r < 0)
			return r;
		frame_reader_compact(&connection->reader, cursor);
	}
}
