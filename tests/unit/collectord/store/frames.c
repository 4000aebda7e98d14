// SPDX-License-Identifier: MIT
#include "tests/unit/collectord/store/frames.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/lib/columns.h"

/* Not assert(): a build without it must not lose what stands inside. */
#define must(claim) ((claim) ? (void)0 : abort())

void frames_add(struct frames *frames, const Rtl__Frame *frame)
{
	size_t bytes = msg_packed_bytes(frame);

	frames->bytes = realloc(frames->bytes, frames->count + bytes);
	must(frames->bytes);
	frames->count += msg_pack(frame, frames->bytes + frames->count);
}

uint8_t *frames_take(struct frames *frames, size_t *ret_count)
{
	uint8_t *bytes = frames->bytes;

	*ret_count = frames->count;
	*frames = (struct frames){0};
	return bytes;
}

static ProtobufCBinaryData bytes_of(const void *data, size_t count)
{
	return (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)data, .len = count};
}

static uint8_t *pack_hello(uint8_t token, int rank, const char *gpu_name, size_t *ret_count)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Hello hello = RTL__HELLO__INIT;
	Rtl__Gpu gpu[2] = {RTL__GPU__INIT, RTL__GPU__INIT};
	Rtl__Gpu *gpus[2] = {&gpu[0], &gpu[1]};
	uint8_t id[16] = {0}, boot[16] = {0xb0};
	uint8_t *packed;
	size_t bytes;

	id[0] = token;
	for (uint32_t i = 0; i < 2; i++) {
		gpu[i].has_gpu_id = gpu[i].has_tick_hz = gpu[i].has_location_id = 1;
		gpu[i].has_domain = 1;
		gpu[i].gpu_id = 3 + i;
		gpu[i].location_id = 0x4300 + (i << 3);
		gpu[i].tick_hz = PEER_TICK_HZ;
		msg_set_bytes(&gpu[i].has_name, &gpu[i].name, gpu_name);
	}
	frame.body_case = RTL__FRAME__BODY_HELLO;
	frame.hello = &hello;
	hello.has_token = hello.has_boot_id = hello.has_start_time = 1;
	hello.token = bytes_of(id, sizeof(id));
	hello.boot_id = bytes_of(boot, sizeof(boot));
	hello.start_time = 4242;
	hello.has_rank = rank >= 0;
	hello.rank = (uint32_t)rank;
	msg_set_bytes(&hello.has_exe, &hello.exe, "/bin/peer");
	msg_set_bytes(&hello.has_mode, &hello.mode, "standard");
	hello.n_gpus = 2;
	hello.gpus = gpus;
	packed = msg_pack_new(&frame, &bytes);
	must(packed);
	*ret_count = bytes - FRAME_PREFIX_BYTES;
	memmove(packed, packed + FRAME_PREFIX_BYTES, *ret_count);
	return packed;
}

uint8_t *peer_hello(uint8_t token, int rank, size_t *ret_count)
{
	return pack_hello(token, rank, "Instinct", ret_count);
}

uint8_t *peer_hello_named(uint8_t token, const char *gpu_name, size_t *ret_count)
{
	return pack_hello(token, 0, gpu_name, ret_count);
}

static void add_kernel(
	struct frames *frames, uint32_t id, uint32_t queue, const void *name, size_t bytes)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__StringDef string = RTL__STRING_DEF__INIT, *strings = &string;
	Rtl__SymbolDef symbol = RTL__SYMBOL_DEF__INIT, *symbols = &symbol;
	Rtl__ShapeDef shape = RTL__SHAPE_DEF__INIT, *shapes = &shape;
	uint32_t workgroup[3] = {64, 1, 1}, grid[3] = {64 * id, 2, 1};

	string.has_id = string.has_text = 1;
	string.id = id;
	string.text = bytes_of(name, bytes);
	symbol.has_id = symbol.has_name = 1;
	symbol.id = symbol.name = id;
	shape.has_id = shape.has_gpu = shape.has_queue = shape.has_symbol = 1;
	shape.id = shape.symbol = id;
	shape.gpu = shape.queue = queue;
	shape.n_workgroup = shape.n_grid = 3;
	shape.workgroup = workgroup;
	shape.grid = grid;
	shape.has_lds = 1;
	shape.lds = 1024;
	defines.n_strings = defines.n_symbols = defines.n_shapes = 1;
	defines.strings = &strings;
	defines.symbols = &symbols;
	defines.shapes = &shapes;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	frames_add(frames, &frame);
}

void peer_add_kernel(struct frames *frames, uint32_t id, const void *name, size_t bytes)
{
	add_kernel(frames, id, 0, name, bytes);
}

void peer_add_defines(struct frames *frames)
{
	add_kernel(frames, 1, 0, "alpha.kd", 8);
	add_kernel(frames, 2, 1, "beta.kd", 7);
}

void peer_add_strings(struct frames *frames, uint32_t first, uint32_t n)
{
	Rtl__StringDef *strings = calloc(n, sizeof(*strings)), **list = calloc(n, sizeof(*list));
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	for (uint32_t i = 0; i < n; i++) {
		rtl__string_def__init(&strings[i]);
		strings[i].has_id = 1;
		strings[i].id = first + i;
		msg_set_bytes(&strings[i].has_text, &strings[i].text, "s");
		list[i] = &strings[i];
	}
	defines.n_strings = n;
	defines.strings = list;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	frames_add(frames, &frame);
	free(list);
	free(strings);
}

void peer_add_anchors(struct frames *frames, uint64_t tick)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Anchors anchors = RTL__ANCHORS__INIT;
	Rtl__Anchor anchor[4], *list[4];

	for (uint32_t i = 0; i < 4; i++) {
		rtl__anchor__init(&anchor[i]);
		anchor[i].has_gpu = anchor[i].has_tick = anchor[i].has_boottime_ns = 1;
		anchor[i].gpu = i % 2;
		anchor[i].tick = i < 2 ? 0 : tick;
		anchor[i].boottime_ns = PEER_ZERO_NS + anchor[i].tick * PEER_TICK_NS;
		list[i] = &anchor[i];
	}
	anchors.n_anchors = 4;
	anchors.anchors = list;
	frame.body_case = RTL__FRAME__BODY_ANCHORS;
	frame.anchors = &anchors;
	frames_add(frames, &frame);
}

/* Each of @step shapes behind that of the one before. */
static void add_dispatches(struct frames *frames, uint64_t number, uint32_t shape, uint32_t step,
	uint64_t seq, uint32_t n, const Rtl__Dispatches *calls)
{
	static struct dispatch_columns columns = {.tid = 77};
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches d = *calls;

	must(n <= FRAME_RECORDS_MAX);
	d.has_submit_base_ns = 1;
	d.submit_base_ns = PEER_ZERO_NS + (1000 + 100 * seq) * PEER_TICK_NS - 500;
	for (uint32_t i = 0; i < n; i++) {
		columns.shape[i] = shape + step * i;
		columns.seq[i] = i ? 0 : (int64_t)seq;
		columns.start[i] = 1000 + 100 * (seq + i);
		columns.duration[i] = 50;
		columns.submit[i] = (int32_t)(100 * i * PEER_TICK_NS);
	}
	columns_frame(&columns, n, number, &d, &frame);
	frames_add(frames, &frame);
}

void peer_add_dispatches(
	struct frames *frames, uint64_t number, uint32_t shape, uint64_t seq, uint32_t n)
{
	const Rtl__Dispatches no_calls = RTL__DISPATCHES__INIT;

	add_dispatches(frames, number, shape, 0, seq, n, &no_calls);
}

void peer_add_shapes(
	struct frames *frames, uint64_t number, uint32_t first, uint64_t seq, uint32_t n)
{
	const Rtl__Dispatches no_calls = RTL__DISPATCHES__INIT;

	add_dispatches(frames, number, first, 1, seq, n, &no_calls);
}

void peer_add_called(struct frames *frames, uint64_t number, uint64_t seq, uint32_t n,
	const Rtl__Dispatches *calls)
{
	add_dispatches(frames, number, 1, 0, seq, n, calls);
}

static void add_counters(struct frames *frames, uint64_t time_ns, uint32_t queue, va_list pairs)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Counters counters = RTL__COUNTERS__INIT;
	Rtl__QueueCounters of_queue = RTL__QUEUE_COUNTERS__INIT, *queues = &of_queue;
	uint64_t value[RTL_Q_COUNT] = {0}, process[RTL_P_COUNT] = {0};
	int counter;

	while ((counter = va_arg(pairs, int)) >= 0)
		value[counter] = (uint64_t)va_arg(pairs, int);
	process[RTL_P_queues_created] = 2;
	of_queue.has_queue = of_queue.has_gpu = 1;
	of_queue.queue = of_queue.gpu = queue;
	of_queue.n_value = RTL_Q_COUNT;
	of_queue.value = value;
	counters.n_process = RTL_P_COUNT;
	counters.process = process;
	counters.n_queues = 1;
	counters.queues = &queues;
	counters.has_time_ns = time_ns > 0;
	counters.time_ns = time_ns;
	frame.body_case = RTL__FRAME__BODY_COUNTERS;
	frame.counters = &counters;
	frames_add(frames, &frame);
}

void peer_add_counters(struct frames *frames, uint32_t queue, ...)
{
	va_list pairs;

	va_start(pairs, queue);
	add_counters(frames, 0, queue, pairs);
	va_end(pairs);
}

void peer_add_counters_at(struct frames *frames, uint64_t time_ns, uint32_t queue, ...)
{
	va_list pairs;

	va_start(pairs, queue);
	add_counters(frames, time_ns, queue, pairs);
	va_end(pairs);
}

void peer_add_marker(struct frames *frames, uint64_t number, uint32_t kind)
{
	uint32_t tid = 77, text = 1;
	uint64_t id = 1, parent = 0, time_ns = PEER_ZERO_NS;
	Rtl__Markers m = RTL__MARKERS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	m.has_n = 1;
	m.n = m.n_kind = m.n_id = m.n_parent = m.n_tid = m.n_time_ns = m.n_text = 1;
	m.kind = &kind;
	m.id = &id;
	m.parent = &parent;
	m.tid = &tid;
	m.time_ns = &time_ns;
	m.text = &text;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_MARKERS;
	frame.markers = &m;
	frames_add(frames, &frame);
}

void peer_add_bye(struct frames *frames)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Bye bye = RTL__BYE__INIT;

	frame.body_case = RTL__FRAME__BODY_BYE;
	frame.bye = &bye;
	frames_add(frames, &frame);
}

void frames_add_rank(struct frames *frames, Rtl__RankDef *rank)
{
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	defines.ranks = &rank;
	defines.n_ranks = 1;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	frames_add(frames, &frame);
}
