// SPDX-License-Identifier: MIT
#include "tests/hostile/lies.h"

#include <stdlib.h>
#include <string.h>

#include "proto/recorder/checksum.h"
#include "proto/base/clock.h"
#include "proto/names/counters.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/lib/columns.h"

#define QUEUES 4u

/* ---- the header ------------------------------------------------------------------------------ */

static void no_lie(struct recorder *r)
{
	r->header->queues_used = 0;
}

static void total_bytes(struct recorder *r)
{
	r->header->total_bytes = UINT64_MAX;
}

static void region_behind_end(struct recorder *r)
{
	r->header->slots.offset = UINT64_MAX - 4096;
}

static void region_overflows(struct recorder *r)
{
	r->header->calls.count = UINT32_MAX;
	r->header->calls.stride = UINT32_MAX;
}

static void no_cells(struct recorder *r)
{
	r->header->cells.count = 0;
}

static void cells_of_a_byte(struct recorder *r)
{
	r->header->cells.stride = 1;
}

/* Every region is the header itself. */
static void regions_overlap(struct recorder *r)
{
	struct recorder_header *h = r->header;

	h->slots.offset = h->cells.offset = h->queues.offset = h->anchors.offset = 0;
	h->markers.offset = h->calls.offset = h->spare_calls.offset = h->defines.offset = 0;
	h->define_bytes = h->defines.count;
	h->slots_used = h->slots.count;
	h->queues_used = h->queues.count;
	h->spare_calls_used = h->spare_calls.count;
}

static void other_magic(struct recorder *r)
{
	r->header->magic = 0;
}

static void other_layout(struct recorder *r)
{
	r->header->layout = RECORDER_LAYOUT + 1;
}

static void other_token(struct recorder *r)
{
	memset(r->header->token, 0xff, sizeof(r->header->token));
}

static void other_boot(struct recorder *r)
{
	memset(r->header->boot_id, 0xff, sizeof(r->header->boot_id));
}

static void slots_used(struct recorder *r)
{
	r->header->slots_used = UINT64_MAX;
}

static void queues_used(struct recorder *r)
{
	r->header->queues_used = RECORDER_QUEUES + 1;
}

static void spare_used(struct recorder *r)
{
	r->header->spare_calls_used = UINT64_MAX;
}

static void define_bytes(struct recorder *r)
{
	r->header->define_bytes = UINT64_MAX;
}

static void published(struct recorder *r)
{
	r->header->published = UINT64_MAX;
}

static void hello_bytes(struct recorder *r)
{
	r->header->hello_bytes = UINT64_MAX;
	memset(r->hello, 0xff, RECORDER_HELLO_BYTES);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static struct recorder_cell *cell_of(struct recorder *r, uint64_t number)
{
	return (struct recorder_cell *)(r->cells + number % RECORDER_CELLS * RECORDER_CELL_BYTES);
}

static void put_cell(struct recorder *r, uint64_t number, const Rtl__Frame *frame)
{
	struct recorder_cell *cell = cell_of(r, number);

	cell->length = (uint32_t)msg_pack(frame, (uint8_t *)(cell + 1));
	cell->records = 1;
	cell->checksum = checksum32(cell + 1, cell->length, number);
	cell->number = number;
	r->header->published = number;
}

/* Dispatches of shape @shape, which may be undefined. */
static void put_dispatches(struct recorder *r, uint64_t number, uint32_t shape, uint32_t n)
{
	static struct dispatch_columns columns = {.tid = 77};
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches d = RTL__DISPATCHES__INIT;

	for (uint32_t i = 0; i < n; i++)
		columns.shape[i] = shape;
	columns.seq[0] = (int64_t)(number * FRAME_RECORDS_MAX);
	columns_frame(&columns, n, number, &d, &frame);
	put_cell(r, number, &frame);
}

static void cell_length(struct recorder *r)
{
	put_dispatches(r, 1, 1, 1);
	cell_of(r, 1)->length = UINT32_MAX;
}

static void cell_checksum(struct recorder *r)
{
	put_dispatches(r, 1, 1, 1);
	cell_of(r, 1)->checksum ^= 1;
}

/* The frame in it says another number than the cell. */
static void cell_number(struct recorder *r)
{
	struct recorder_cell *cell = cell_of(r, 1);

	put_dispatches(r, 513, 1, 1);
	cell->checksum = checksum32(cell + 1, cell->length, 1);
	cell->number = 1;
}

static void cell_unknown_shape(struct recorder *r)
{
	put_dispatches(r, 1, PROCESS_SHAPES_MAX - 1, FRAME_RECORDS_MAX);
}

/* All cells of the same frames, one behind the other and the first behind the last. */
static void cells_in_a_circle(struct recorder *r)
{
	for (uint64_t number = 1; number <= RECORDER_CELLS; number++)
		put_dispatches(r, number, 1, 1);
	r->header->published = UINT64_MAX;
	cell_of(r, 0)->checksum = 0;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void use_queues(struct recorder *r)
{
	r->header->queues_used = QUEUES;
	for (unsigned i = 0; i < QUEUES; i++) {
		r->queues[i].in_use = 1;
		r->queues[i].gpu = i % LIE_GPUS;
		r->queues[i].producer[RTL_Q_dispatched] = RECORDER_SLOTS / QUEUES;
	}
	for (unsigned i = 0; i < LIE_GPUS; i++)
		r->anchors[i].tick_hz = 1000000000;
}

static void fill_slots(struct recorder *r, enum recorder_slot_state state)
{
	use_queues(r);
	r->header->slots_used = RECORDER_SLOTS;
	for (uint32_t i = 0; i < RECORDER_SLOTS; i++) {
		struct recorder_slot *slot = &r->slots[i];

		slot->state = (uint16_t)state;
		slot->queue = i % QUEUES;
		slot->seq = i / QUEUES;
		slot->submit_ns = 1 + i;
		slot->start_tick = 1 + i;
		slot->end_tick = 2 + i;
		slot->grid[0] = 1 + i; /* a shape of its own */
		slot->workgroup[0] = 1;
	}
}

static void slot_states(struct recorder *r)
{
	fill_slots(r, (enum recorder_slot_state)UINT16_MAX);
}

static void slot_queues(struct recorder *r)
{
	fill_slots(r, SLOT_DONE);
	for (uint32_t i = 0; i < RECORDER_SLOTS; i++)
		r->slots[i].queue = UINT16_MAX;
}

static void slot_numbers(struct recorder *r)
{
	fill_slots(r, SLOT_SUBMITTED);
	for (uint32_t i = 0; i < RECORDER_SLOTS; i++)
		r->slots[i].seq = UINT64_MAX - i;
}

/* All the same dispatch. */
static void slot_numbers_again(struct recorder *r)
{
	fill_slots(r, SLOT_SUBMITTED);
	for (uint32_t i = 0; i < RECORDER_SLOTS; i++)
		r->slots[i].seq = 7;
}

/* "In a frame that was published": such slots are never read again. */
static void slot_labels(struct recorder *r)
{
	fill_slots(r, SLOT_DONE);
	put_dispatches(r, 1, 1, 1);
	for (uint32_t i = 0; i < RECORDER_SLOTS; i++)
		r->slots[i].frame = i % 2 ? 1 : UINT64_MAX;
}

static void slot_times(struct recorder *r)
{
	fill_slots(r, SLOT_DONE);
	for (uint32_t i = 0; i < RECORDER_SLOTS; i++) {
		r->slots[i].start_tick = UINT64_MAX - i;
		r->slots[i].end_tick = i % 2 ? UINT64_MAX : 0;
		r->slots[i].submit_ns = UINT64_MAX;
		r->slots[i].symbol = UINT32_MAX - i;
		r->slots[i].call = UINT32_MAX;
		r->slots[i].marker = i % 3;
	}
}

/* ---- counters -------------------------------------------------------------------------------- */

static void counters_end(struct recorder *r)
{
	use_queues(r);
	memset((void *)r->header->process, 0xff, sizeof(r->header->process));
	for (unsigned i = 0; i < QUEUES; i++) {
		memset((void *)r->queues[i].producer, 0xff, sizeof(r->queues[i].producer));
		memset((void *)r->queues[i].harvester, 0xff, sizeof(r->queues[i].harvester));
	}
}

/* More than there was, and all of it at once. */
static void counters_sum(struct recorder *r)
{
	use_queues(r);
	for (unsigned i = 0; i < QUEUES; i++)
		for (unsigned c = 0; c < 16; c++) {
			r->queues[i].producer[c] = INT64_MAX / 4;
			r->queues[i].harvester[c] = INT64_MAX / 4;
		}
}

/* Of each queue: nothing was ever dispatched, all the same it was dropped. */
static void counters_back(struct recorder *r)
{
	use_queues(r);
	for (unsigned i = 0; i < QUEUES; i++) {
		r->queues[i].producer[RTL_Q_dispatched] = 0;
		r->queues[i].producer[RTL_Q_dropped_recorder_full] = 1000;
		r->queues[i].harvester[0] = 1000;
	}
	r->header->queues_used = RECORDER_QUEUES;
	for (unsigned i = QUEUES; i < RECORDER_QUEUES; i++) {
		r->queues[i].in_use = 1;
		r->queues[i].gpu = UINT32_MAX;
		r->queues[i].producer[RTL_Q_dropped_recorder_full] = i;
	}
}

/* ---- definitions and anchors ------------------------------------------------------------------
 */

static void put_define(struct recorder *r, const Rtl__Defines *defines)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	uint64_t at = r->header->define_bytes;

	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = (Rtl__Defines *)(uintptr_t)defines;
	r->header->define_bytes = at + msg_pack(&frame, r->defines + at);
}

/* Frames that say nothing, as many as there is room for. */
static void defines_empty(struct recorder *r)
{
	const Rtl__Defines nothing = RTL__DEFINES__INIT;

	while (r->header->define_bytes + 64 < RECORDER_DEFINE_BYTES)
		put_define(r, &nothing);
}

static void put_kernel(struct recorder *r, uint32_t id, uint32_t name)
{
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__StringDef string = RTL__STRING_DEF__INIT, *strings = &string;
	Rtl__SymbolDef symbol = RTL__SYMBOL_DEF__INIT, *symbols = &symbol;
	Rtl__ShapeDef shape = RTL__SHAPE_DEF__INIT, *shapes = &shape;
	uint32_t sizes[3] = {id, id, id};
	char text[16] = "k0123456.kd";

	memcpy(text + 1, &id, sizeof(id));
	string.has_id = symbol.has_id = shape.has_id = 1;
	string.id = symbol.id = shape.id = id;
	string.has_text = symbol.has_name = shape.has_symbol = 1;
	string.text.data = (uint8_t *)text;
	string.text.len = sizeof(text);
	symbol.name = name;
	shape.symbol = id;
	shape.n_workgroup = shape.n_grid = 3;
	shape.workgroup = shape.grid = sizes;
	defines.n_strings = defines.n_symbols = defines.n_shapes = 1;
	defines.strings = &strings;
	defines.symbols = &symbols;
	defines.shapes = &shapes;
	put_define(r, &defines);
}

/* Kernels without end, each named like the next one. */
static void defines_endless(struct recorder *r)
{
	for (uint32_t id = 1; r->header->define_bytes + 128 < RECORDER_DEFINE_BYTES; id++)
		put_kernel(r, id, id + 1);
}

static void defines_far(struct recorder *r)
{
	put_kernel(r, UINT32_MAX, 0);
}

static void define_length(struct recorder *r)
{
	r->header->define_bytes = 8;
	memset(r->defines, 0xff, 8);
}

static void anchors(struct recorder *r)
{
	fill_slots(r, SLOT_DONE);
	for (unsigned gpu = 0; gpu < RECORDER_GPUS; gpu++) {
		r->anchors[gpu].count = UINT64_MAX;
		r->anchors[gpu].tick_hz = UINT64_MAX;
		for (unsigned i = 0; i < RECORDER_ANCHORS; i++)
			r->anchors[gpu].entry[i] = (struct recorder_anchor){.tick = INT64_MAX - i,
				.boottime_ns = INT64_MAX - i % 3,
				.realtime_ns = i,
				.error_ns = INT64_MAX};
	}
}

/* ---- rings ----------------------------------------------------------------------------------- */

static struct recorder_marker *marker_of(struct recorder *r, uint32_t i)
{
	return (struct recorder_marker *)((uint8_t *)r->base + r->header->markers.offset) + i;
}

static struct recorder_call *call_of(struct recorder *r, uint32_t i)
{
	const struct recorder_region *region =
		i < RECORDER_CALLS ? &r->header->calls : &r->header->spare_calls;

	return (struct recorder_call *)((uint8_t *)r->base + region->offset) +
	       (i < RECORDER_CALLS ? i : i - RECORDER_CALLS);
}

/* Each the child of the next one, the last of the first. */
static void fill_markers(struct recorder *r)
{
	for (uint32_t i = 0; i < RECORDER_MARKERS; i++) {
		struct recorder_marker *marker = marker_of(r, i);

		marker->event.turn = 1;
		marker->id = 1 + i;
		marker->parent = 1 + (i + 1) % RECORDER_MARKERS;
		marker->time_ns = 1 + i;
		marker->kind = RTL_MARKER_BEGIN_PUSH;
		marker->bytes = sizeof(marker->text);
		memset(marker->text, 'x', sizeof(marker->text));
		memcpy(marker->text, &i, sizeof(i));
	}
}

static void markers_too_long(struct recorder *r)
{
	fill_markers(r);
	for (uint32_t i = 0; i < RECORDER_MARKERS; i++) {
		marker_of(r, i)->bytes = UINT16_MAX;
		marker_of(r, i)->kind = (uint16_t)i;
		marker_of(r, i)->event.turn = 1 + (uint64_t)RECORDER_MARKERS * (i % 7) * (i % 5);
	}
}

static void fill_calls(struct recorder *r)
{
	r->header->spare_calls_used = RECORDER_CALLS_SPARE;
	r->header->process[RTL_P_calls_begun] = RECORDER_CALLS + RECORDER_CALLS_SPARE;
	for (uint32_t i = 0; i < RECORDER_CALLS + RECORDER_CALLS_SPARE; i++) {
		struct recorder_call *call = call_of(r, i);

		call->event.turn = 1;
		call->id = 1 + i;
		call->parent = 2 + i;
		call->start_ns = call->end_ns = 1 + i;
		call->kind = RECORDER_CALL_HOST;
		call->api = 1;
		call->tid = i;
	}
}

static void calls_of_no_kind(struct recorder *r)
{
	fill_calls(r);
	for (uint32_t i = 0; i < RECORDER_CALLS + RECORDER_CALLS_SPARE; i++) {
		struct recorder_call *call = call_of(r, i);

		call->kind = (uint8_t)(i % 8);
		call->api = (uint16_t)(i * 7);
		call->id = i % 2 ? UINT64_MAX : 5;
		call->end_ns = i % 3 ? 0 : UINT64_MAX;
		memset(call->arg, 0xff, sizeof(call->arg));
	}
}

/* As much as there is room for, none of it wrong: what a drain costs at most. */
static void everything(struct recorder *r)
{
	fill_slots(r, SLOT_DONE);
	defines_endless(r);
	for (uint64_t number = 1; number < RECORDER_CELLS; number++)
		put_dispatches(r, number, (uint32_t)number, FRAME_RECORDS_MAX);
	fill_markers(r);
	fill_calls(r);
}

static void submitted(struct recorder *r)
{
	fill_slots(r, SLOT_SUBMITTED);
}

const struct lie lies[] = {
	{"none", "-", no_lie, NULL},
	{"total_bytes", "bad_recorder", total_bytes, NULL},
	{"region_behind_end", "bad_recorder", region_behind_end, NULL},
	{"region_overflows", "bad_recorder", region_overflows, NULL},
	{"no_cells", "bad_recorder", no_cells, NULL},
	{"cells_of_a_byte", "bad_recorder", cells_of_a_byte, NULL},
	{"regions_overlap", "corrupt_slot", regions_overlap, NULL},
	{"other_magic", "bad_recorder", NULL, other_magic},
	{"other_layout", "bad_recorder", NULL, other_layout},
	{"other_token", "bad_recorder", NULL, other_token},
	{"other_boot", "bad_recorder", NULL, other_boot},
	{"slots_used", "bad_recorder", NULL, slots_used},
	{"queues_used", "bad_recorder", queues_used, NULL},
	{"spare_used", "bad_recorder", spare_used, NULL},
	{"define_bytes", "bad_recorder", define_bytes, NULL},
	{"published", "unknown_tail", published, NULL},
	{"hello_bytes", "-", hello_bytes, NULL},
	{"cell_length", "corrupt_frames", cell_length, NULL},
	{"cell_checksum", "corrupt_frames", cell_checksum, NULL},
	{"cell_number", "corrupt_frames", cell_number, NULL},
	{"cell_unknown_shape", "corrupt_frames", cell_unknown_shape, NULL},
	{"cells_in_a_circle", "corrupt_frames", cells_in_a_circle, NULL},
	{"slot_states", "corrupt_slot", slot_states, NULL},
	{"slot_queues", "corrupt_slot", slot_queues, NULL},
	{"slot_numbers", "corrupt_slot", slot_numbers, NULL},
	{"slot_numbers_again", "-", slot_numbers_again, NULL},
	{"slot_labels", "corrupt_frames", slot_labels, NULL},
	{"slot_times", "-", slot_times, NULL},
	{"counters_end", "-", counters_end, NULL},
	{"counters_sum", "-", counters_sum, NULL},
	{"counters_back", "dropped_recorder_full", counters_back, NULL},
	{"defines_empty", "-", defines_empty, NULL},
	{"defines_endless", "-", defines_endless, NULL},
	{"defines_far", "corrupt_defines", defines_far, NULL},
	{"define_length", "corrupt_defines", define_length, NULL},
	{"anchors", "-", anchors, NULL},
	{"markers_too_long", "corrupt_slot", markers_too_long, NULL},
	{"calls_of_no_kind", "corrupt_slot", calls_of_no_kind, NULL},
	{"submitted", "-", submitted, NULL},
	{"everything", "-", everything, NULL},
	{NULL, NULL, NULL, NULL},
};
