/* SPDX-License-Identifier: MIT */
#include "proto/wire/msg.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/names/collectives.h"
#include "proto/names/copies.h"
#include "proto/names/counters.h"
#include "proto/wire/frame.h"
#include "proto/names/host_calls.h"
#include "proto/base/limits.h"

#define ARENA_FIRST_BYTES (64u << 10)

/* ASan knows no bounds within a block: the part of the arena that is not allocated is poisoned. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

struct msg_arena_block {
	struct msg_arena_block *next;
	size_t bytes;
	_Alignas(max_align_t) uint8_t data[];
};

void msg_arena_init(struct msg_arena *arena, size_t limit)
{
	*arena = (struct msg_arena){.limit = limit};
}

static void arena_drop_extra(struct msg_arena *arena)
{
	while (arena->extra) {
		struct msg_arena_block *next = arena->extra->next;

		free(arena->extra);
		arena->extra = next;
	}
}

void msg_arena_done(struct msg_arena *arena)
{
	arena_drop_extra(arena);
	free(arena->base);
	*arena = (struct msg_arena){0};
}

/* Start over; what the last frame needed becomes one contiguous block. */
static void arena_reset(struct msg_arena *arena)
{
	size_t want = arena->used > ARENA_FIRST_BYTES ? arena->used : ARENA_FIRST_BYTES;

	arena_drop_extra(arena);
	if (want > arena->limit)
		want = arena->limit;
	if (want > arena->capacity) {
		free(arena->base);
		arena->base = malloc(want);
		arena->capacity = arena->base ? want : 0;
	}
	arena->used = 0;
	if (arena->base)
		ASAN_POISON_MEMORY_REGION(arena->base, arena->capacity);
}

int msg_arena_reserve(struct msg_arena *arena)
{
	arena_reset(arena);
	return arena->base ? 0 : -ENOMEM;
}

static void *arena_alloc(void *data, size_t bytes)
{
	struct msg_arena *arena = data;
	struct msg_arena_block *block;
	size_t asked = bytes;
	void *at;

	if (bytes > arena->limit)
		return NULL;
	bytes = (bytes + 15u) & ~(size_t)15u;
	if (bytes > arena->limit - arena->used)
		return NULL;
	if (bytes <= arena->capacity && arena->used <= arena->capacity - bytes) {
		at = arena->base + arena->used;
	} else {
		block = malloc(sizeof(*block) + bytes);
		if (!block) {
			arena->is_starved = true;
			return NULL;
		}
		block->bytes = bytes;
		block->next = arena->extra;
		arena->extra = block;
		at = block->data;
	}
	arena->used += bytes;
	ASAN_POISON_MEMORY_REGION(at, bytes);
	ASAN_UNPOISON_MEMORY_REGION(at, asked);
	return at;
}

static void arena_free(void *data, void *pointer)
{
	/* Everything goes at once with the next frame. */
	(void)data;
	(void)pointer;
}

/* Run lists start at record 0 when present and go strictly up below n. */
static bool runs_are_valid(const uint32_t *from, size_t n_from, size_t n_value, uint32_t n)
{
	if (n_from != n_value)
		return false;
	for (size_t i = 0; i < n_from; i++)
		if (from[i] >= n || (i && from[i] <= from[i - 1]))
			return false;
	return true;
}

static size_t count_equal_u32(const uint32_t *column, size_t n, uint32_t value)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += column[i] == value;
	return count;
}

static bool dispatches_are_valid(const Rtl__Dispatches *d)
{
	uint32_t n = d->n;

	if (!d->has_n || n == 0 || n > FRAME_RECORDS_MAX || !d->has_submit_base_ns)
		return false;
	if (d->n_shape != n || d->n_seq != n || d->n_start_tick != n || d->n_duration_ticks != n ||
		d->n_submit_delta_ns != n)
		return false;
	if (d->n_long_duration != count_equal_u32(d->duration_ticks, n, UINT32_MAX) ||
		d->n_long_submit_ns !=
			count_equal_u32((const uint32_t *)d->submit_delta_ns, n, 0x80000000u))
		return false;
	if (!runs_are_valid(d->tid_from, d->n_tid_from, d->n_tid, n) ||
		!runs_are_valid(d->marker_from, d->n_marker_from, d->n_marker, n) ||
		!runs_are_valid(d->untimed_at, d->n_untimed_at, d->n_untimed_why, n) ||
		!runs_are_valid(d->call_from, d->n_call_from, d->n_call, n) ||
		d->n_node != d->n_call)
		return false;
	for (size_t i = 0; i < d->n_untimed_why; i++)
		if (!rtl_untimed_name(d->untimed_why[i]))
			return false;
	return true;
}

static bool markers_are_valid(const Rtl__Markers *m)
{
	size_t inline_texts = 0;

	if (!m->has_n || m->n == 0 || m->n > FRAME_RECORDS_MAX)
		return false;
	if (m->n_kind != m->n || m->n_id != m->n || m->n_parent != m->n || m->n_tid != m->n ||
		m->n_time_ns != m->n || m->n_text != m->n)
		return false;
	for (uint32_t i = 0; i < m->n; i++)
		inline_texts += m->text[i] == RTL_MARKER_TEXT_INLINE;
	return inline_texts == m->n_inline_text;
}

static bool copies_are_valid(const Rtl__Copies *c)
{
	if (!c->has_n || c->n == 0 || c->n > FRAME_RECORDS_MAX)
		return false;
	if (c->n_how != c->n || c->n_id != c->n || c->n_call != c->n || c->n_tid != c->n ||
		c->n_submit_ns != c->n || c->n_marker != c->n || c->n_bytes != c->n ||
		c->n_direction != c->n || c->n_source != c->n || c->n_target != c->n ||
		c->n_engine != c->n || c->n_start_ns != c->n || c->n_duration_ns != c->n)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (!rtl_copy_how_name(c->how[i]) || !rtl_copy_direction_name(c->direction[i]))
			return false;
	return true;
}

static bool host_calls_are_valid(const Rtl__HostCalls *c)
{
	size_t words = 0;

	if (!c->has_n || c->n == 0 || c->n > FRAME_RECORDS_MAX)
		return false;
	if (c->n_api != c->n || c->n_id != c->n || c->n_parent != c->n || c->n_tid != c->n ||
		c->n_start_ns != c->n || c->n_duration_ns != c->n || c->n_marker != c->n ||
		c->n_result != c->n || c->n_stream != c->n || c->n_arg_count != c->n)
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->api[i] >= RTL_HOST_COUNT ||
			c->arg_count[i] != host_call_info[c->api[i]].words)
			return false;
		words += c->arg_count[i];
	}
	return c->n_arg == words;
}

static bool collectives_are_valid(const Rtl__Collectives *c)
{
	if (!c->has_n || c->n == 0 || c->n > FRAME_RECORDS_MAX)
		return false;
	if (c->n_op != c->n || c->n_id != c->n || c->n_parent != c->n || c->n_tid != c->n ||
		c->n_start_ns != c->n || c->n_duration_ns != c->n || c->n_marker != c->n ||
		c->n_result != c->n || c->n_stream != c->n || c->n_count != c->n ||
		c->n_bytes != c->n || c->n_datatype != c->n || c->n_reduction != c->n ||
		c->n_comm != c->n || c->n_comm_rank != c->n || c->n_comm_size != c->n ||
		c->n_seq != c->n || c->n_peer != c->n || c->n_group != c->n ||
		(c->n_graph && c->n_graph != c->n))
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (!collective_name(c->op[i]))
			return false;
	return true;
}

static bool defines_are_valid(const Rtl__Defines *defines)
{
	for (size_t i = 0; i < defines->n_shapes; i++)
		if (defines->shapes[i]->n_grid != 3 || defines->shapes[i]->n_workgroup != 3)
			return false;
	for (size_t i = 0; i < defines->n_strings; i++)
		if (defines->strings[i]->text.len > SYMBOL_BYTES_MAX)
			return false;
	return true;
}

/* Without a default, so that the compiler warns of a type of frame that is not listed. */
static bool body_is_valid(const Rtl__Frame *frame)
{
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DISPATCHES:
		return frame->has_number && dispatches_are_valid(frame->dispatches);
	case RTL__FRAME__BODY_MARKERS:
		return frame->has_number && markers_are_valid(frame->markers);
	case RTL__FRAME__BODY_COPIES:
		return frame->has_number && copies_are_valid(frame->copies);
	case RTL__FRAME__BODY_HOST_CALLS:
		return frame->has_number && host_calls_are_valid(frame->host_calls);
	case RTL__FRAME__BODY_COLLECTIVES:
		return frame->has_number && collectives_are_valid(frame->collectives);
	case RTL__FRAME__BODY_DEFINES:
		return defines_are_valid(frame->defines);
	case RTL__FRAME__BODY_HELLO:
	case RTL__FRAME__BODY_WELCOME:
	case RTL__FRAME__BODY_COUNTERS:
	case RTL__FRAME__BODY_ANCHORS:
	case RTL__FRAME__BODY_ACK:
	case RTL__FRAME__BODY_BYE:
	case RTL__FRAME__BODY_REFUSAL:
	case RTL__FRAME__BODY_RUNNER_HELLO:
	case RTL__FRAME__BODY_RUNNER_STATUS:
	case RTL__FRAME__BODY_RUNNER_DONE:
	case RTL__FRAME__BODY_STAT_REQUEST:
	case RTL__FRAME__BODY_STAT_REPLY:
	case RTL__FRAME__BODY_SESSIONS_REQUEST:
	case RTL__FRAME__BODY_SESSIONS_REPLY:
	case RTL__FRAME__BODY_CTL_REQUEST:
	case RTL__FRAME__BODY_CTL_REPLY:
	case RTL__FRAME__BODY_CONTROL:
	case RTL__FRAME__BODY_CONTROL_DONE:
		return true; /* has no columns, whose lengths would have to agree */
	case RTL__FRAME__BODY__NOT_SET:
	case _RTL__FRAME__BODY__CASE_IS_INT_SIZE: /* of protobuf-c; no frame has it */
		break;
	}
	return false;
}

int msg_unpack(struct msg_arena *arena, const uint8_t *data, size_t bytes, Rtl__Frame **ret)
{
	ProtobufCAllocator allocator = {
		.alloc = arena_alloc, .free = arena_free, .allocator_data = arena};
	Rtl__Frame *frame;

	arena_reset(arena);
	arena->is_starved = false;
	frame = rtl__frame__unpack(&allocator, bytes, data);
	if (!frame && arena->is_starved)
		return -ENOMEM;
	if (!frame)
		return arena->limit - arena->used < bytes ? -ENOBUFS : -EBADMSG;
	if (frame->body_case == RTL__FRAME__BODY__NOT_SET)
		return -EBADMSG;
	if (!body_is_valid(frame))
		return -EINVAL;
	*ret = frame;
	return 0;
}

size_t msg_packed_bytes(const Rtl__Frame *frame)
{
	return FRAME_PREFIX_BYTES + rtl__frame__get_packed_size(frame);
}

size_t msg_pack(const Rtl__Frame *frame, uint8_t *at)
{
	size_t bytes = rtl__frame__pack(frame, at + FRAME_PREFIX_BYTES);

	frame_put_length(at, (uint32_t)bytes);
	return FRAME_PREFIX_BYTES + bytes;
}

uint8_t *msg_pack_new(const Rtl__Frame *frame, size_t *ret_bytes)
{
	uint8_t *buffer = malloc(msg_packed_bytes(frame));

	if (buffer)
		*ret_bytes = msg_pack(frame, buffer);
	return buffer;
}

uint32_t msg_common_version(int has_min, uint32_t min, int has_max, uint32_t max)
{
	if (!has_min)
		min = 1;
	if (!has_max)
		max = min;
	if (min < PROTO_VERSION_MIN)
		min = PROTO_VERSION_MIN;
	if (max > PROTO_VERSION_MAX)
		max = PROTO_VERSION_MAX;
	return min <= max ? max : 0;
}

char *msg_string(int has, const ProtobufCBinaryData *field, size_t max)
{
	if (!has)
		return NULL;
	return strndup(
		field->data ? (const char *)field->data : "", field->len < max ? field->len : max);
}

void msg_set_bytes(protobuf_c_boolean *has, ProtobufCBinaryData *field, const char *text)
{
	*has = text != NULL;
	field->data = (uint8_t *)(uintptr_t)text;
	field->len = text ? strlen(text) : 0;
}
