// SPDX-License-Identifier: MIT
#include "shim/capture/batch_state.h"

#include "proto/wire/frame.h"
#include "shim/record/protobuf_writer.h"

/* Field numbers of rtl.proto. */
enum {
	FRAME_NUMBER = 1,
	FRAME_DISPATCHES = 5,
	DISPATCHES_N = 1,
	DISPATCHES_SHAPE = 2,
	DISPATCHES_SEQ = 3,
	DISPATCHES_START_TICK = 4,
	DISPATCHES_DURATION = 5,
	DISPATCHES_LONG_DURATION = 6,
	DISPATCHES_SUBMIT_BASE = 7,
	DISPATCHES_SUBMIT_DELTA = 8,
	DISPATCHES_LONG_SUBMIT = 9,
	DISPATCHES_TID_FROM = 10,
	DISPATCHES_TID = 11,
	DISPATCHES_MARKER_FROM = 12,
	DISPATCHES_MARKER = 13,
	DISPATCHES_UNTIMED_AT = 14,
	DISPATCHES_UNTIMED_WHY = 15,
	DISPATCHES_CALL_FROM = 16,
	DISPATCHES_CALL = 17,
	DISPATCHES_NODE = 18,
};

#define DURATION_ESCAPE UINT32_MAX
#define SUBMIT_ESCAPE	INT32_MIN

void columns_clear(struct columns *c, uint64_t newest_call)
{
	c->n = c->n_sure = 0;
	c->n_long_duration = c->n_long_submit = c->n_tid = c->n_marker = c->n_untimed = 0;
	c->n_call = 0;
	c->call_from_bytes = c->call_bytes = c->node_bytes = 0;
	c->newest_call = newest_call;
	c->last_call = 0;
	c->next_node = 0;
	c->shape_bytes = c->seq_bytes = c->long_duration_bytes = 0;
	c->tid_from_bytes = c->tid_bytes = c->marker_from_bytes = c->marker_bytes = 0;
	c->untimed_at_bytes = c->untimed_why_bytes = 0;
	c->submit_base_ns = 0;
	c->last_seq = UINT64_MAX; /* seq[-1] = -1 */
	c->last_marker = 0;
	c->last_tid = 0;
}

static void add_times(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	uint64_t duration;

	if (slot->untimed != RTL_TIMED) {
		c->start_tick[i] = 0;
		c->duration[i] = 0;
		c->untimed_at[c->n_untimed] = i;
		c->untimed_why[c->n_untimed++] = slot->untimed;
		c->untimed_at_bytes += pb_varint_bytes(i);
		c->untimed_why_bytes += pb_varint_bytes(slot->untimed);
		return;
	}
	duration = slot->end_tick - slot->start_tick;
	c->start_tick[i] = slot->start_tick;
	if (duration < DURATION_ESCAPE) {
		c->duration[i] = (uint32_t)duration;
		return;
	}
	c->duration[i] = DURATION_ESCAPE;
	c->long_duration[c->n_long_duration++] = duration;
	c->long_duration_bytes += pb_varint_bytes(duration);
}

static void add_submit(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	int64_t delta;

	if (i == 0)
		c->submit_base_ns = slot->submit_ns;
	delta = (int64_t)(slot->submit_ns - c->submit_base_ns);
	if (delta > SUBMIT_ESCAPE && delta <= INT32_MAX) {
		c->submit_delta[i] = (int32_t)delta;
		return;
	}
	c->submit_delta[i] = SUBMIT_ESCAPE;
	c->long_submit[c->n_long_submit++] = slot->submit_ns;
}

static void add_runs(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	if (i == 0 || slot->tid != c->last_tid) {
		c->tid_from[c->n_tid] = i;
		c->tid[c->n_tid++] = slot->tid;
		c->tid_from_bytes += pb_varint_bytes(i);
		c->tid_bytes += pb_varint_bytes(slot->tid);
		c->last_tid = slot->tid;
	}
	if (slot->marker != c->last_marker) {
		c->marker_from[c->n_marker] = i;
		c->marker[c->n_marker++] = slot->marker;
		c->marker_from_bytes += pb_varint_bytes(i);
		c->marker_bytes += pb_varint_bytes(slot->marker);
		c->last_marker = slot->marker;
	}
}

static void add_call(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	uint64_t call;
	uint32_t node;

	/* Usual in a program whose host calls are not recorded. */
	if (!slot->call && !c->last_call)
		return;
	call = recorder_call_id(slot->call, c->newest_call);
	node = call ? slot->node : 0;
	if (call != c->last_call || node != c->next_node) {
		c->call_from[c->n_call] = i;
		c->call[c->n_call] = call;
		c->node[c->n_call++] = node;
		c->call_from_bytes += pb_varint_bytes(i);
		c->call_bytes += pb_varint_bytes(call);
		c->node_bytes += pb_varint_bytes(node);
		c->last_call = call;
	}
	c->next_node = call && node != RECORDER_NODE_UNKNOWN ? node + 1 : node;
}

void columns_add(struct columns *c, const struct recorder_slot *slot, uint32_t shape)
{
	uint32_t i = c->n++;

	c->shape_bytes = (size_t)(pb_put_varint(c->shape + c->shape_bytes, shape) - c->shape);
	c->seq_bytes = (size_t)(pb_put_varint(c->seq + c->seq_bytes,
					pb_zigzag((int64_t)(slot->seq - c->last_seq - 1))) -
				c->seq);
	c->last_seq = slot->seq;
	add_times(c, i, slot);
	add_submit(c, i, slot);
	add_runs(c, i, slot);
	add_call(c, i, slot);
}

static size_t body_bytes(const struct columns *c)
{
	size_t bytes = pb_tag_bytes(DISPATCHES_N) + pb_varint_bytes(c->n);

	bytes += pb_field_bytes(DISPATCHES_SHAPE, c->shape_bytes);
	bytes += pb_field_bytes(DISPATCHES_SEQ, c->seq_bytes);
	bytes += pb_field_bytes(DISPATCHES_START_TICK, c->n * sizeof(uint64_t));
	bytes += pb_field_bytes(DISPATCHES_DURATION, c->n * sizeof(uint32_t));
	bytes += pb_field_bytes(DISPATCHES_LONG_DURATION, c->long_duration_bytes);
	bytes += pb_tag_bytes(DISPATCHES_SUBMIT_BASE) + sizeof(uint64_t);
	bytes += pb_field_bytes(DISPATCHES_SUBMIT_DELTA, c->n * sizeof(int32_t));
	bytes += pb_field_bytes(DISPATCHES_LONG_SUBMIT, c->n_long_submit * sizeof(uint64_t));
	bytes += pb_field_bytes(DISPATCHES_TID_FROM, c->tid_from_bytes);
	bytes += pb_field_bytes(DISPATCHES_TID, c->tid_bytes);
	bytes += pb_field_bytes(DISPATCHES_MARKER_FROM, c->marker_from_bytes);
	bytes += pb_field_bytes(DISPATCHES_MARKER, c->marker_bytes);
	bytes += pb_field_bytes(DISPATCHES_UNTIMED_AT, c->untimed_at_bytes);
	bytes += pb_field_bytes(DISPATCHES_UNTIMED_WHY, c->untimed_why_bytes);
	bytes += pb_field_bytes(DISPATCHES_CALL_FROM, c->call_from_bytes);
	bytes += pb_field_bytes(DISPATCHES_CALL, c->call_bytes);
	bytes += pb_field_bytes(DISPATCHES_NODE, c->node_bytes);
	return bytes;
}

size_t columns_bytes_most(const struct columns *c)
{
	return COLUMNS_FRAME_BYTES_MAX + body_bytes(c);
}

static uint8_t *put_body(const struct columns *c, uint8_t *at)
{
	at = pb_put_uint(at, DISPATCHES_N, c->n);
	at = pb_put_fixed(at, DISPATCHES_SHAPE, c->shape, c->shape_bytes);
	at = pb_put_fixed(at, DISPATCHES_SEQ, c->seq, c->seq_bytes);
	at = pb_put_fixed(at, DISPATCHES_START_TICK, c->start_tick, c->n * sizeof(uint64_t));
	at = pb_put_fixed(at, DISPATCHES_DURATION, c->duration, c->n * sizeof(uint32_t));
	at = pb_put_packed(at, DISPATCHES_LONG_DURATION, c->long_duration, c->n_long_duration,
		c->long_duration_bytes);
	at = pb_put_tag(at, DISPATCHES_SUBMIT_BASE, PB_FIXED64);
	memcpy(at, &c->submit_base_ns, sizeof(uint64_t));
	at += sizeof(uint64_t);
	at = pb_put_fixed(at, DISPATCHES_SUBMIT_DELTA, c->submit_delta, c->n * sizeof(int32_t));
	at = pb_put_fixed(
		at, DISPATCHES_LONG_SUBMIT, c->long_submit, c->n_long_submit * sizeof(uint64_t));
	at = pb_put_packed32(at, DISPATCHES_TID_FROM, c->tid_from, c->n_tid, c->tid_from_bytes);
	at = pb_put_packed32(at, DISPATCHES_TID, c->tid, c->n_tid, c->tid_bytes);
	at = pb_put_packed32(
		at, DISPATCHES_MARKER_FROM, c->marker_from, c->n_marker, c->marker_from_bytes);
	at = pb_put_packed(at, DISPATCHES_MARKER, c->marker, c->n_marker, c->marker_bytes);
	at = pb_put_packed32(
		at, DISPATCHES_UNTIMED_AT, c->untimed_at, c->n_untimed, c->untimed_at_bytes);
	at = pb_put_packed32(
		at, DISPATCHES_UNTIMED_WHY, c->untimed_why, c->n_untimed, c->untimed_why_bytes);
	at = pb_put_packed32(at, DISPATCHES_CALL_FROM, c->call_from, c->n_call, c->call_from_bytes);
	at = pb_put_packed(at, DISPATCHES_CALL, c->call, c->n_call, c->call_bytes);
	return pb_put_packed32(at, DISPATCHES_NODE, c->node, c->n_call, c->node_bytes);
}

size_t columns_encode(const struct columns *c, uint64_t number, uint8_t *at)
{
	uint8_t *end = at + FRAME_PREFIX_BYTES;

	end = pb_put_uint(end, FRAME_NUMBER, number);
	end = pb_put_head(end, FRAME_DISPATCHES, body_bytes(c));
	end = put_body(c, end);
	frame_put_length(at, (uint32_t)(end - at - FRAME_PREFIX_BYTES));
	return (size_t)(end - at);
}
