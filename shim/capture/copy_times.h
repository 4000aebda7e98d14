/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Copies whose times on the GPU are wanted, by the application's signal that they complete: the
 * times stay in the signal until its next use, so they are read as soon as it has fired, by the
 * shim thread or, before that next use, by whoever is about to make it. The signal is left as it
 * is. One that serves several copies at once has times of none of them.
 *
 * Any thread. Only copy_watch_packet() is on the dispatch path: it waits for nobody and gives the
 * times up instead. Reading asks the runtime, which takes a lock of its own.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define COPY_WATCH_WAYS	   16u
#define COPY_WATCH_BUCKETS 512u

struct copy_watch_calls {
	/* When the copy that completed @signal ran, CLOCK_BOOTTIME; false: not to be had. */
	bool (*read)(uint64_t signal, uint64_t *ret_start_ns, uint64_t *ret_end_ns);
	/* The end of each copy_watch(): its times, or 0 and 0. Any thread, the dispatch path too when
	 * there are none. */
	void (*done)(uint64_t id, uint64_t start_ns, uint64_t end_ns);
};

/* OnLoad, before there are copies. */
void copy_watch_begin(const struct copy_watch_calls *calls);

/*
 * Copy @id is about to be submitted with @signal. False: it cannot be watched, and done() was
 * called. Otherwise copy_watch_submitted() has to follow, by the same thread.
 */
bool copy_watch(uint64_t signal, uint64_t id, uint64_t submit_ns);
/* Its record is made, times may come; not @ok: there is no such copy, and no done(). */
void copy_watch_submitted(uint64_t signal, uint64_t id, bool ok);

/* Signals that are watched; 0 on most calls. */
extern _Atomic uint32_t copy_watch_count;

/* The signal's next use: its value is stored, it is destroyed, a packet is to complete it. */
void copy_watch_used_slowly(uint64_t signal);
void copy_watch_destroyed_slowly(uint64_t signal);
void copy_watch_packet_slowly(uint64_t signal);

static inline void copy_watch_used(uint64_t signal)
{
	if (__builtin_expect(atomic_load_explicit(&copy_watch_count, memory_order_acquire) != 0, 0))
		copy_watch_used_slowly(signal);
}

/* Returns when nobody reads it any more. */
static inline void copy_watch_destroyed(uint64_t signal)
{
	if (__builtin_expect(atomic_load_explicit(&copy_watch_count, memory_order_acquire) != 0, 0))
		copy_watch_destroyed_slowly(signal);
}

static inline void copy_watch_packet(uint64_t signal)
{
	if (__builtin_expect(atomic_load_explicit(&copy_watch_count, memory_order_acquire) != 0, 0))
		copy_watch_packet_slowly(signal);
}

/* Reads what has fired. Whether anything is still watched. */
bool copy_watch_poll(void);

/* OnUnload: what has not fired by now ends without times. */
void copy_watch_end(void);
