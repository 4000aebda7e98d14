/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The writer's side of the recorder: creates the sealed memfd of proto/recorder/layout.h and
 * maintains its invariants (docs/recorder.md) for the define log, anchors, counters, slots and
 * outbox cells. Any thread writes counters and slots, as their comments say. Frames belong to the
 * holder of the harvest lock; recorder_next_unsent() and recorder_resume() to the connection's
 * thread. No sockets, and no allocation after creation.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/recorder/layout.h"
#include "shim/record/event_ring.h"

/* The rings of host-side events. */
enum recorder_ring {
	RECORDER_RING_MARKERS, /* entries are struct recorder_marker */
	RECORDER_RING_CALLS,   /* entries are struct recorder_call */
	/* The same: takes host calls and collectives if the former is half full. */
	RECORDER_RING_SPARE_CALLS,
	RECORDER_RINGS,
};

struct recorder_identity {
	uint8_t boot_id[16];
	uint8_t token[16];
	int64_t pid;
	uint64_t start_time; /* field 22 of /proc/self/stat */
};

struct recorder {
	int fd;		  /* the memfd, for SCM_RIGHTS; owned */
	uint64_t fd_mark; /* fd_mark() of fd */
	uint8_t *base;
	size_t bytes;
	struct recorder_header *header;
	struct recorder_slot *slots;
	struct recorder_queue *queues;
	struct recorder_anchors *anchors;
	uint8_t *defines;
	struct event_ring rings[RECORDER_RINGS];
	uint8_t *hello; /* RECORDER_HELLO_BYTES */
	uint8_t *cells;

	_Atomic uint32_t define_lock;
	_Atomic uint64_t acked; /* written by the connection's thread */
	uint64_t open_frame;	/* next number; harvest lock */
	uint64_t sent;		/* last frame handed to the socket; connection's thread */
	uint64_t sent_most;	/* highest ever sent, for sent_again; connection's thread */
	struct event_ends ring_ends[RECORDER_RINGS];
};

/* -errno of memfd_create(), ftruncate(), fcntl() or mmap(). @ret->fd is -1 on failure. */
int recorder_create(const struct recorder_identity *identity, struct recorder *ret);

/* Unmaps and closes; for tests and for a shim that gives up before its first queue. */
void recorder_close(struct recorder *recorder);

/*
 * Stores the Hello with its length prefix, for a collector that finds the recorder after both ends
 * have died. Called once.
 */
void recorder_put_hello(struct recorder *recorder, const uint8_t *frame, size_t bytes);

/* ---- counters: any thread unless said otherwise ------------------------------------------ */

/* Atomic, since process counters have several writers. */
static inline void recorder_count(
	struct recorder *recorder, enum rtl_process_counter what, uint64_t n)
{
	atomic_fetch_add_explicit(&recorder->header->process[what], n, memory_order_relaxed);
}

/* Sets a counter of which the calling thread is the only writer. */
static inline void recorder_set(
	struct recorder *recorder, enum rtl_process_counter what, uint64_t value)
{
	atomic_store_explicit(&recorder->header->process[what], value, memory_order_relaxed);
}

/*
 * For the only writer of @word: one instruction, which compilers do not generate from an atomic
 * load and store. TSan does not see assembly.
 */
static inline void recorder_word_add(_Atomic uint64_t *word, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__ volatile("addq %1, %0" : "+m"(*(uint64_t *)word) : "er"(n) : "cc");
#else
	atomic_store_explicit(
		word, atomic_load_explicit(word, memory_order_relaxed) + n, memory_order_relaxed);
#endif
}

/*
 * A plain addition, since only one thread writes: the holder of the queue's walk lock, or of the
 * harvest lock.
 */
static inline void recorder_count_queue(
	struct recorder_queue *queue, enum rtl_queue_counter what, uint64_t n)
{
	_Atomic uint64_t *word = (int)what < RTL_Q_PRODUCER_COUNT
					 ? &queue->producer[what]
					 : &queue->harvester[(int)what - RTL_Q_HARVESTER_FIRST];

	recorder_word_add(word, n);
}

static inline uint64_t recorder_process_value(
	const struct recorder *recorder, enum rtl_process_counter what)
{
	return atomic_load_explicit(&recorder->header->process[what], memory_order_relaxed);
}

static inline uint64_t recorder_queue_value(
	const struct recorder_queue *queue, enum rtl_queue_counter what)
{
	const _Atomic uint64_t *word =
		(int)what < RTL_Q_PRODUCER_COUNT
			? &queue->producer[what]
			: &queue->harvester[(int)what - RTL_Q_HARVESTER_FIRST];

	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Number of queue blocks ever used; blocks 0 .. n - 1 have counters to report. */
static inline uint32_t recorder_queues_used(const struct recorder *recorder)
{
	return (uint32_t)atomic_load_explicit(&recorder->header->queues_used, memory_order_acquire);
}

/* ---- slots: any thread, no lock --------------------------------------------------------- */

/*
 * Takes @count slots that were never used; they are FREE and start at *ret_first. At least @keep
 * slots remain for other callers. Returns false if there are too few.
 */
bool recorder_slots_carve(
	struct recorder *recorder, uint32_t count, uint32_t keep, uint32_t *ret_first);

/* Populates whole pages of slots that were never used and are about to be. Cold path. */
void recorder_slots_touch(const struct recorder *recorder, uint32_t first, uint32_t count);

static inline uint32_t recorder_slots_used(const struct recorder *recorder)
{
	return (uint32_t)atomic_load_explicit(&recorder->header->slots_used, memory_order_relaxed);
}

/* ---- define log ------------------------------------------------------------------------ */

enum recorder_define_how {
	RECORDER_DEFINE_WAIT = 0, /* for cold paths: may wait for another thread that appends */
	RECORDER_DEFINE_TRY = 1,  /* for the dispatch path: -EAGAIN instead of waiting */
	RECORDER_DEFINE_LAST = 2, /* may use the reserve for overflow names and shapes */
	/*
	 * At the end of the process: waits for some ms, then -EAGAIN. The process may end in a
	 * signal handler that has interrupted a thread which appends.
	 */
	RECORDER_DEFINE_END = 4,
	RECORDER_DEFINE_QUEUE = 8, /* may also use the reserve for the last shape of each queue */
};

/*
 * Appends one whole frame (u32 length + Frame with Defines). -ENOSPC: the log is full, so the
 * caller uses its overflow definition and counts names_overflowed; -EAGAIN. Any thread.
 */
int recorder_define(struct recorder *recorder, const void *frame, size_t bytes, unsigned how);

/* Whole frames from @offset on; *ret_bytes is 0 if there are none. Connection's thread. */
const uint8_t *recorder_defines_from(
	const struct recorder *recorder, uint64_t offset, size_t *ret_bytes);

/* ---- anchors: OnLoad, then only the thread that harvests ------------------------------------ */

/* @gpu is the index in Hello.gpus, below RECORDER_GPUS. */
void recorder_anchor_set_rate(struct recorder *recorder, uint32_t gpu, uint64_t tick_hz);
void recorder_anchor_add(
	struct recorder *recorder, uint32_t gpu, const struct recorder_anchor *anchor);

/* ---- frames: holder of the harvest lock ---------------------------------------------------- */

struct recorder_open {
	uint64_t number;
	struct recorder_cell *cell;
	uint8_t *bytes; /* start of the frame, which begins with its u32 length */
	size_t room;
};

/* Begins step L. -EAGAIN if N frames are unacknowledged (I3). */
int recorder_frame_open(struct recorder *recorder, struct recorder_open *ret);

/* The cell of frame @number, for a thread that populates its pages. Any thread. */
void *recorder_cell_bytes(const struct recorder *recorder, uint64_t number);

/*
 * Step P: publishes @length bytes (prefix included). If it is not called, the number stays unused.
 */
void recorder_frame_publish(struct recorder *recorder, const struct recorder_open *open,
	size_t length, uint32_t records);

static inline uint64_t recorder_published(const struct recorder *recorder)
{
	return atomic_load_explicit(&recorder->header->published, memory_order_acquire);
}

/* Frames published and not yet acknowledged. Any thread. */
static inline uint64_t recorder_unacked(const struct recorder *recorder)
{
	uint64_t acked = atomic_load_explicit(&recorder->acked, memory_order_relaxed);
	uint64_t published = recorder_published(recorder);

	return published > acked ? published - acked : 0;
}

/* ---- outbox: connection's thread ------------------------------------------------------------ */

/*
 * The next frame to send, in wire format; false if there is none. The bytes stay valid until the
 * frame is acknowledged. Call recorder_sent() once its last byte was written to the socket.
 */
bool recorder_next_unsent(const struct recorder *recorder, uint64_t *ret_number,
	const uint8_t **ret_frame, size_t *ret_bytes);
void recorder_sent(struct recorder *recorder, uint64_t number);

/*
 * Handles Ack(frame). -EPROTO if the frame was not sent on this connection; the caller closes it.
 */
int recorder_acked(struct recorder *recorder, uint64_t frame);

/* Handles Welcome(hw): sending restarts at hw + 1. -EPROTO if hw was never published. */
int recorder_resume(struct recorder *recorder, uint64_t hw);

/* Marks a clean end. Call only if capture_pending() is 0 and nothing will be recorded any more. */
void recorder_bye(struct recorder *recorder);
