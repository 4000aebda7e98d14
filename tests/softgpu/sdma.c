// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <string.h>

/* The packets that ROCr's BlitSdma builds for gfx9 (V4) and gfx10, in dwords. */
#define OP_NOP	       0u
#define OP_COPY	       1u
#define OP_FENCE       5u
#define OP_TRAP	       6u
#define OP_POLL_REGMEM 8u
#define OP_ATOMIC      10u
#define OP_CONST_FILL  11u
#define OP_TIMESTAMP   13u
#define OP_GCR	       17u
#define SUBOP_LINEAR   0u
#define SUBOP_RECT     4u
#define ATOMIC_ADD64   47u
#define MEM_POLL       (1u << 31)
#define FUNC_EQUAL     3u
#define BATCH	       64u
/* Counts have 22 bits, from ROCr 6 on 30 where the engine has them (gfx90a); the rest is 0. */
#define COUNT_MASK     0x3fffffffu

#define BAD_PACKET 0u
#define WAIT	   UINT32_MAX

static uint64_t address(const uint32_t *dw)
{
	return dw[0] | (uint64_t)dw[1] << 32;
}

static void spend_copy_time(struct queue *q, uint64_t bytes)
{
	uint64_t ns;

	script_get_copy(bytes, &ns);
	q->now_ns += ns;
}

static void note_copy(struct queue *q, uint64_t bytes)
{
	if (!q->copy.packets++)
		q->copy.start_tick = packet_tick(q, q->now_ns);
	q->copy.bytes += bytes;
	spend_copy_time(q, bytes);
	q->copy.end_tick = packet_tick(q, q->now_ns);
}

static void publish_copy(struct queue *q, uint64_t signal)
{
	if (!q->copy.packets)
		return;
	q->copy.gpu = q->dev->ordinal;
	q->copy.node = q->dev->node;
	q->copy.queue_id = q->id;
	q->copy.signal = signal;
	q->copy.engine = q->engine;
	truth_add_copy(&q->copy);
	memset(&q->copy, 0, sizeof(q->copy));
}

static uint32_t copy_linear(struct queue *q, const uint32_t *p)
{
	uint64_t bytes = (uint64_t)(p[1] & COUNT_MASK) + 1;

	memmove(memory_host(address(&p[5])), memory_host(address(&p[3])), bytes);
	note_copy(q, bytes);
	return 7;
}

/* Widths of a sub-window's fields: gfx12 has more bits for them. */
struct rect_format {
	uint32_t xy_mask, z_offset_mask, pitch_shift, slice_mask, depth_mask;
};

static const struct rect_format rect_gfx9 = {0x3fffu, 0x7ffu, 13, 0xfffffffu, 0x7ffu};
static const struct rect_format rect_gfx12 = {0xffffu, 0x3fffu, 16, 0xffffffffu, 0x3fffu};

/* Pitches, offsets and sizes are in elements, all but offsets minus one. */
static uint32_t copy_rect(struct queue *q, const uint32_t *p)
{
	const struct rect_format *f = q->dev->gfx->major >= 12 ? &rect_gfx12 : &rect_gfx9;
	unsigned int element = p[0] >> 29;
	const uint8_t *src = memory_host(address(&p[1]));
	uint8_t *dst = memory_host(address(&p[6]));
	uint64_t src_pitch = (uint64_t)(p[4] >> f->pitch_shift) + 1;
	uint64_t dst_pitch = (uint64_t)(p[9] >> f->pitch_shift) + 1;
	uint64_t src_slice = (uint64_t)(p[5] & f->slice_mask) + 1;
	uint64_t dst_slice = (uint64_t)(p[10] & f->slice_mask) + 1;
	uint64_t width = (uint64_t)(p[11] & f->xy_mask) + 1;
	uint64_t height = (uint64_t)(p[11] >> 16 & f->xy_mask) + 1;
	uint64_t depth = (uint64_t)(p[12] & f->depth_mask) + 1;

	for (uint64_t z = 0; z < depth; z++) {
		for (uint64_t y = 0; y < height; y++) {
			uint64_t s = (p[3] & f->xy_mask) +
				     (y + (p[3] >> 16 & f->xy_mask)) * src_pitch +
				     (z + (p[4] & f->z_offset_mask)) * src_slice;
			uint64_t d = (p[8] & f->xy_mask) +
				     (y + (p[8] >> 16 & f->xy_mask)) * dst_pitch +
				     (z + (p[9] & f->z_offset_mask)) * dst_slice;

			memmove(dst + (d << element), src + (s << element), width << element);
		}
	}
	note_copy(q, (width * height * depth) << element);
	return 13;
}

static uint32_t const_fill(struct queue *q, const uint32_t *p)
{
	uint64_t bytes = (uint64_t)(p[4] & COUNT_MASK) + sizeof(uint32_t);
	uint32_t *dst = memory_host(address(&p[1]));

	for (uint64_t i = 0; i < bytes / sizeof(*dst); i++)
		dst[i] = p[3];
	spend_copy_time(q, bytes);
	return 5;
}

static uint64_t signal_of_value(uint64_t addr)
{
	return addr - offsetof(amd_signal_t, value);
}

static uint32_t poll(struct queue *q, const uint32_t *p)
{
	uint64_t at = address(&p[1]), ns;
	uint32_t v;

	if (!(p[0] & MEM_POLL))
		return 6; /* HDP flush */
	if ((p[0] >> 28 & 7u) != FUNC_EQUAL)
		return BAD_PACKET;
	v = __atomic_load_n((uint32_t *)memory_host(at), __ATOMIC_ACQUIRE);
	if ((v & p[4]) != p[3])
		return WAIT;
	/* ROCr polls both halves of a signal's value; the lower one names the signal. */
	ns = clock_get_signal(signal_of_value(at));
	if (ns > q->now_ns)
		q->now_ns = ns;
	return 6;
}

static uint32_t atomic(struct queue *q, const uint32_t *p)
{
	uint64_t at = address(&p[1]);

	if (p[0] >> 25 != ATOMIC_ADD64)
		return BAD_PACKET;
	publish_copy(q, signal_of_value(at));
	clock_put_signal(signal_of_value(at), q->now_ns);
	__atomic_add_fetch((uint64_t *)memory_host(at), address(&p[3]), __ATOMIC_RELEASE);
	return 8;
}

/* Executes one packet. Returns its length in dwords, or WAIT, or BAD_PACKET. */
static uint32_t run(struct queue *q, const uint32_t *p)
{
	unsigned int sub_op = p[0] >> 8 & 0xffu;

	switch (p[0] & 0xffu) {
	case OP_NOP:
		return 1;
	case OP_COPY:
		if (sub_op == SUBOP_LINEAR)
			return copy_linear(q, p);
		return sub_op == SUBOP_RECT ? copy_rect(q, p) : BAD_PACKET;
	case OP_FENCE:
		__atomic_store_n((uint32_t *)memory_host(address(&p[1])), p[3], __ATOMIC_RELEASE);
		return 4;
	case OP_TRAP:
		event_set_by_id(p[1] & 0xfffffffu);
		return 2;
	case OP_POLL_REGMEM:
		return poll(q, p);
	case OP_ATOMIC:
		return atomic(q, p);
	case OP_CONST_FILL:
		return const_fill(q, p);
	case OP_TIMESTAMP:
		__atomic_store_n((uint64_t *)memory_host(address(&p[1])), packet_tick(q, q->now_ns),
			__ATOMIC_RELAXED);
		return 3;
	case OP_GCR:
		return 5; /* cache control */
	default:
		return BAD_PACKET;
	}
}

/* In real time a copy must not seem to end before it does. */
static bool is_ahead_of_wall(struct queue *q)
{
	if (!softgpu_config.is_realtime || q->now_ns <= clock_wall_ns())
		return false;
	if (!q->dev->due_ns || q->now_ns < q->dev->due_ns)
		q->dev->due_ns = q->now_ns;
	return true;
}

/* The index counts bytes and never wraps; ROCr pads with NOPs up to the ring's end. */
bool sdma_step(struct queue *q)
{
	bool did_any = false;

	if (q->state == QUEUE_STUCK)
		return false;
	for (unsigned int n = 0; n < BATCH; n++) {
		uint64_t write = __atomic_load_n(q->write_ptr, __ATOMIC_ACQUIRE);
		const uint32_t *p =
			(const uint32_t *)(q->ring + (q->read_index & (q->ring_bytes - 1)));
		uint32_t dwords;

		if (q->read_index >= write) {
			q->is_idle = true;
			break;
		}
		if (is_ahead_of_wall(q))
			break;
		packet_restart_clock(q);
		dwords = run(q, p);
		if (dwords == WAIT) {
			q->is_idle = true;
			break;
		}
		if (dwords == BAD_PACKET) {
			q->state = QUEUE_STUCK;
			break;
		}
		q->read_index += dwords * sizeof(uint32_t);
		__atomic_store_n(q->read_ptr, q->read_index, __ATOMIC_RELEASE);
		did_any = true;
	}
	return did_any;
}
