// SPDX-License-Identifier: MIT
#include "tests/unit/collectord/store/recorder.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/recorder/checksum.h"

/* Not assert(): a build without it must not lose what stands inside. */
#define must(claim) ((claim) ? (void)0 : abort())

#define REGION(member, elements)                                                                   \
	(struct recorder_region)                                                                   \
	{                                                                                          \
		.offset = offsetof(struct hand_recorder, member), .count = (elements),             \
		.stride = sizeof(((struct hand_recorder *)0)->member) / (elements),                \
	}

struct hand_recorder *hand_recorder_new(uint8_t token)
{
	struct hand_recorder *r = aligned_alloc(64, sizeof(*r));
	struct frames f = {0};

	must(r);
	memset(r, 0, sizeof(*r));
	r->header.magic = RECORDER_MAGIC;
	r->header.layout = RECORDER_LAYOUT;
	r->header.header_bytes = sizeof(r->header);
	r->header.total_bytes = sizeof(*r);
	r->header.slots = REGION(slot, HAND_SLOTS);
	r->header.cells = REGION(cell, HAND_CELLS);
	r->header.queues = REGION(queue, 2);
	r->header.anchors = REGION(anchors, 2);
	r->header.defines = REGION(define, sizeof(r->define));
	r->header.markers = REGION(marker, HAND_MARKERS);
	r->header.calls = REGION(call, HAND_CALLS);
	r->header.spare_calls = REGION(spare_call, HAND_CALLS);
	r->header.token[0] = token;
	r->header.boot_id[0] = 0xb0;
	r->header.ready = 1;
	r->header.queues_used = 2;
	r->header.slots_used = HAND_SLOTS;
	r->queue[0].in_use = r->queue[1].in_use = 1;
	r->queue[1].gpu = 1;
	for (unsigned gpu = 0; gpu < 2; gpu++) {
		r->anchors[gpu].count = 2;
		r->anchors[gpu].tick_hz = PEER_TICK_HZ;
		r->anchors[gpu].entry[0].boottime_ns = PEER_ZERO_NS;
		r->anchors[gpu].entry[1].tick = 1000000;
		r->anchors[gpu].entry[1].boottime_ns = PEER_ZERO_NS + 1000000 * PEER_TICK_NS;
	}
	peer_add_defines(&f);
	must(f.count <= sizeof(r->define));
	memcpy(r->define, f.bytes, f.count);
	r->header.define_bytes = f.count;
	free(f.bytes);
	return r;
}

static void fill_slot(struct recorder_slot *slot, uint32_t state, uint64_t seq, uint64_t frame)
{
	slot->state = state;
	slot->seq = seq;
	slot->frame = frame;
	slot->symbol = 1;
	slot->tid = 77;
	slot->submit_ns = PEER_ZERO_NS + (1000 + 100 * seq) * PEER_TICK_NS - 500;
	slot->start_tick = 1000 + 100 * seq;
	slot->end_tick = slot->start_tick + 50;
	slot->workgroup[0] = 64;
	slot->workgroup[1] = slot->workgroup[2] = 1;
	slot->grid[0] = 64;
	slot->grid[1] = 2;
	slot->grid[2] = 1;
	slot->lds = 1024;
}

void hand_recorder_slot(
	struct hand_recorder *r, unsigned i, uint32_t state, uint64_t seq, uint64_t frame)
{
	fill_slot(&r->slot[i], state, seq, frame);
}

struct recorder_marker *hand_recorder_marker(
	struct hand_recorder *r, uint64_t position, uint64_t id, uint64_t frame, const char *text)
{
	struct recorder_marker *marker = &r->marker[position % HAND_MARKERS];

	marker->event.turn = position - position % HAND_MARKERS + 1;
	marker->event.frame = frame;
	marker->id = id;
	marker->time_ns = PEER_ZERO_NS + id;
	marker->tid = 77;
	marker->kind = RTL_MARKER_MARK;
	marker->bytes = (uint16_t)strlen(text);
	memcpy(marker->text, text, strlen(text));
	return marker;
}

struct recorder_cell *hand_recorder_cell(
	struct hand_recorder *r, uint64_t number, struct frames *frames, uint32_t records)
{
	struct recorder_cell *cell = (void *)r->cell[number % HAND_CELLS];
	size_t count;
	uint8_t *bytes = frames_take(frames, &count);

	must(count <= HAND_CELL_BYTES - sizeof(*cell));
	memcpy(cell + 1, bytes, count);
	free(bytes);
	cell->length = (uint32_t)count;
	cell->records = records;
	cell->checksum = checksum32(cell + 1, count, number);
	cell->number = number;
	if (number > r->header.published)
		r->header.published = number;
	return cell;
}

int hand_recorder_memfd(const struct hand_recorder *r)
{
	int fd = memfd_create("recorder", MFD_CLOEXEC);

	must(fd >= 0);
	must(pwrite(fd, r, sizeof(*r), 0) == (ssize_t)sizeof(*r));
	return fd;
}

int hand_recorder_memfd_with(struct hand_recorder *r, struct recorder_region *region,
	const void *array, uint32_t count, uint32_t stride)
{
	size_t bytes = (size_t)count * stride;
	int fd;

	*region = (struct recorder_region){.offset = sizeof(*r), .count = count, .stride = stride};
	r->header.total_bytes = sizeof(*r) + bytes;
	fd = hand_recorder_memfd(r);
	must(pwrite(fd, array, bytes, sizeof(*r)) == (ssize_t)bytes);
	return fd;
}

int hand_recorder_memfd_slots(struct hand_recorder *r, uint32_t slots)
{
	struct recorder_slot *array = calloc(slots, sizeof(*array));
	int fd;

	must(array);
	for (uint32_t i = 0; i < slots; i++)
		fill_slot(&array[i], SLOT_DONE, i, 0);
	r->header.slots_used = slots;
	r->queue[0].producer[RTL_Q_dispatched] = slots;
	fd = hand_recorder_memfd_with(r, &r->header.slots, array, slots, sizeof(*array));
	free(array);
	return fd;
}
