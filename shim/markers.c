/* SPDX-License-Identifier: MIT */
#include "shim/markers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/clock.h"
#include "proto/counters.h"
#include "proto/limits.h"
#include "proto/msg.h"
#include "shim/batch.h"
#include "shim/capture.h"
#include "shim/roctx.h"
#include "shim/strings.h"
#include "shim/thread_state.h"

/* A tight training loop begins and ends thousands of ranges a second, and the shim's thread may
 * wait for a processor. A slot costs memory only once it was used. */
#define RING_SLOTS	  8192u
#define FRAME_MARKERS_MAX 512u
/* roctxRangeStart's ids live apart from those of pushed ranges, whoever gives them. */
#define STARTED_ID	  (1ull << 62)

/* Writer: the thread that took the position; `turn` hands it on (a bounded MPSC queue). */
struct marker_slot {
	_Atomic uint64_t turn;
	uint64_t id;
	uint64_t parent;
	uint64_t time_ns;
	uint32_t tid;
	uint16_t kind;
	uint16_t bytes;
	char text[MARKER_BYTES_MAX];
};

/* Ranges that one thread has pushed. */
struct marker_stack {
	uint32_t depth;
	uint64_t open[MARKER_DEPTH_MAX]; /* 0: not recorded */
};

struct marker_ring {
	_Alignas(64) _Atomic uint64_t tail; /* producers */
	_Alignas(64) uint64_t head;	    /* shim thread */
	pid_t pid;			    /* whose it is; set before it is shared */
	struct marker_slot slot[RING_SLOTS];
};

/* One frame on its way: it stays here while no cell is free. Shim thread. */
struct marker_frame {
	uint32_t n;
	uint32_t kind[FRAME_MARKERS_MAX], tid[FRAME_MARKERS_MAX], text[FRAME_MARKERS_MAX];
	uint64_t id[FRAME_MARKERS_MAX], parent[FRAME_MARKERS_MAX], time_ns[FRAME_MARKERS_MAX];
	uint64_t begun, ended;
};

/* Ranges of this thread; the innermost one is thread_state.marker. */
static __thread struct marker_stack marker_stack;

static struct marker_ring *_Atomic marker_ring;
static _Atomic uint64_t marker_last_id;
static _Atomic uint64_t markers_dropped;
static uint64_t markers_dropped_told; /* shim thread */
static struct marker_frame marker_frame;

/* ---- application threads -------------------------------------------------------------- */

/* NULL: no memory. Made by the first marker, so that nobody else pays for it. */
static struct marker_ring *ring_get(void)
{
	struct marker_ring *ring = atomic_load_explicit(&marker_ring, memory_order_acquire);
	struct marker_ring *expected = NULL;

	if (ring)
		return ring;
	ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring == MAP_FAILED)
		return NULL;
	ring->pid = getpid();
	/* Zeroed turns: slot i is first written at position i, so a turn is kept less its i. */
	if (!atomic_compare_exchange_strong(&marker_ring, &expected, ring)) {
		munmap(ring, sizeof(*ring));
		return expected;
	}
	return ring;
}

/* Position p may be written when turn + slot == p, read when it is p + 1. */
static struct marker_slot *slot_take(struct marker_ring *ring, uint64_t *ret_position)
{
	uint64_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	for (;;) {
		struct marker_slot *slot = &ring->slot[position % RING_SLOTS];
		uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire) +
				position % RING_SLOTS;

		if (turn == position) {
			if (atomic_compare_exchange_weak_explicit(&ring->tail, &position,
				    position + 1, memory_order_relaxed, memory_order_relaxed)) {
				*ret_position = position;
				return slot;
			}
		} else if ((int64_t)(turn - position) < 0) {
			return NULL; /* full */
		} else {
			position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
		}
	}
}

static bool marker_put(enum rtl_marker_kind kind, uint64_t id, uint64_t parent, const char *text)
{
	struct marker_ring *ring = ring_get();
	struct marker_slot *slot = NULL;
	uint64_t position;
	size_t bytes;

	if (ring)
		slot = slot_take(ring, &position);
	if (!slot) {
		atomic_fetch_add_explicit(&markers_dropped, 1, memory_order_relaxed);
		return false;
	}
	bytes = text ? strnlen(text, MARKER_BYTES_MAX) : 0;
	slot->id = id;
	slot->parent = parent;
	slot->time_ns = clock_boottime_ns();
	slot->tid = thread_state_tid();
	slot->kind = (uint16_t)kind;
	slot->bytes = (uint16_t)bytes;
	memcpy(slot->text, text ? text : "", bytes);
	atomic_store_explicit(
		&slot->turn, position + 1 - position % RING_SLOTS, memory_order_release);
	return true;
}

static uint64_t id_take(void)
{
	return atomic_fetch_add_explicit(&marker_last_id, 1, memory_order_relaxed) + 1;
}

int markers_push(const char *text)
{
	struct marker_stack *stack = &marker_stack;
	uint64_t id = id_take();
	uint32_t level = stack->depth++;

	if (level >= MARKER_DEPTH_MAX) {
		atomic_fetch_add_explicit(&markers_dropped, 1, memory_order_relaxed);
		return (int)level;
	}
	if (!marker_put(RTL_MARKER_BEGIN_PUSH, id, thread_state.marker, text))
		id = 0;
	stack->open[level] = id;
	if (id)
		thread_state.marker = id;
	return (int)level;
}

int markers_pop(void)
{
	struct marker_stack *stack = &marker_stack;
	uint32_t level;
	uint64_t id;

	if (!stack->depth)
		return -1;
	level = --stack->depth;
	if (level >= MARKER_DEPTH_MAX)
		return (int)level;
	id = stack->open[level];
	if (!id)
		return (int)level;
	thread_state.marker = 0;
	for (uint32_t i = 0; i < level; i++)
		if (stack->open[i])
			thread_state.marker = stack->open[i];
	marker_put(RTL_MARKER_END, id, thread_state.marker, NULL);
	return (int)level;
}

void markers_mark(const char *text)
{
	marker_put(RTL_MARKER_MARK, id_take(), thread_state.marker, text);
}

uint64_t markers_start_id(void)
{
	return id_take();
}

void markers_start(uint64_t id, const char *text)
{
	marker_put(RTL_MARKER_BEGIN_START, STARTED_ID | id, thread_state.marker, text);
}

void markers_stop(uint64_t id)
{
	marker_put(RTL_MARKER_END, STARTED_ID | id, thread_state.marker, NULL);
}

void markers_forget(void)
{
	/* The pages are the child's own copies; they stay, nobody reads them. */
	atomic_store_explicit(&marker_ring, NULL, memory_order_relaxed);
}

void markers_begin(void)
{
	struct marker_ring *ring = atomic_load_explicit(&marker_ring, memory_order_acquire);

	/* Made before a fork: its records are the parent's to send. */
	if (ring && ring->pid != getpid())
		markers_forget();
	/* Its string ids are of another define log. */
	memset(&marker_frame, 0, sizeof(marker_frame));
}

/* ---- shim thread ---------------------------------------------------------------------- */

static void frame_add(
	struct marker_frame *frame, const struct marker_slot *slot, struct strings *strings)
{
	uint32_t i = frame->n++;

	frame->kind[i] = slot->kind;
	frame->id[i] = slot->id;
	frame->parent[i] = slot->parent;
	frame->tid[i] = slot->tid;
	frame->time_ns[i] = slot->time_ns;
	frame->text[i] = 0;
	if (slot->kind == RTL_MARKER_END) {
		frame->ended++;
		return;
	}
	frame->begun += slot->kind != RTL_MARKER_MARK;
	frame->text[i] = strings_intern(strings, slot->text, slot->bytes);
}

/* The oldest record of the ring, NULL: none; slot_release() gives its place back. */
static struct marker_slot *slot_oldest(struct marker_ring *ring)
{
	uint64_t index = ring->head % RING_SLOTS;
	struct marker_slot *slot = &ring->slot[index];
	uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire) + index;

	return turn == ring->head + 1 ? slot : NULL;
}

static void slot_release(struct marker_ring *ring, struct marker_slot *slot)
{
	atomic_store_explicit(&slot->turn, ring->head + RING_SLOTS - ring->head % RING_SLOTS,
		memory_order_release);
	ring->head++;
}

static void frame_fill(
	struct marker_frame *frame, struct marker_ring *ring, struct strings *strings)
{
	struct marker_slot *slot;

	while (frame->n < FRAME_MARKERS_MAX && (slot = slot_oldest(ring))) {
		frame_add(frame, slot, strings);
		slot_release(ring, slot);
	}
}

static size_t frame_encode(
	void *context, uint64_t number, uint8_t *at, size_t room, uint32_t *ret_records)
{
	struct marker_frame *marker = context;
	Rtl__Markers message = RTL__MARKERS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	message.has_n = 1;
	message.n = marker->n;
	message.n_kind = message.n_id = message.n_parent = marker->n;
	message.n_tid = message.n_time_ns = message.n_text = marker->n;
	message.kind = marker->kind;
	message.id = marker->id;
	message.parent = marker->parent;
	message.tid = marker->tid;
	message.time_ns = marker->time_ns;
	message.text = marker->text;
	frame.has_number = 1;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_MARKERS;
	frame.markers = &message;
	if (msg_packed_bytes(&frame) > room)
		return 0;
	*ret_records = marker->n;
	return msg_pack(&frame, at);
}
/* 512 markers with every number in its longest form: 21 KiB of a cell's 32. */
static_assert(FRAME_MARKERS_MAX * 44 + 64 < RECORDER_CELL_BYTES - sizeof(struct recorder_cell),
	"a frame of markers fits a cell");

static void dropped_count(struct capture *capture)
{
	uint64_t dropped = atomic_load_explicit(&markers_dropped, memory_order_relaxed);

	if (dropped == markers_dropped_told)
		return;
	recorder_count(
		capture_recorder(capture), RTL_P_dropped_markers, dropped - markers_dropped_told);
	markers_dropped_told = dropped;
}

void markers_drain(struct capture *capture, struct strings *strings)
{
	struct marker_ring *ring = atomic_load_explicit(&marker_ring, memory_order_acquire);
	struct marker_frame *frame = &marker_frame;

	while (ring) {
		frame_fill(frame, ring, strings);
		if (!frame->n || batch_put_frame(capture, frame_encode, frame))
			break;
		recorder_count(capture_recorder(capture), RTL_P_markers_begun, frame->begun);
		recorder_count(capture_recorder(capture), RTL_P_markers_ended, frame->ended);
		frame->n = 0;
		frame->begun = frame->ended = 0;
	}
	dropped_count(capture);
}

void markers_finish(struct capture *capture)
{
	struct marker_ring *ring = atomic_load_explicit(&marker_ring, memory_order_acquire);
	uint64_t left = marker_frame.n;
	struct marker_slot *slot;

	for (; ring && (slot = slot_oldest(ring)); left++)
		slot_release(ring, slot);
	atomic_fetch_add_explicit(&markers_dropped, left, memory_order_relaxed);
	memset(&marker_frame, 0, sizeof(marker_frame));
	dropped_count(capture);
}
