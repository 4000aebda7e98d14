/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Watches copies whose times on the GPU are wanted, by the application's signal that they complete.
 * The times stay in the signal until its next use. So they are read as soon as it has fired by the
 * shim thread or, before that next use, by the thread that is about to use it. The signal is not
 * changed. If one signal serves several copies at once, none of them gets times.
 *
 * Any thread may call. Only copy_watch_packet() is on the dispatch path: it does not wait, and
 * gives up the times instead. Reading calls the runtime, which takes a lock of its own.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define COPY_WATCH_WAYS	   16u
#define COPY_WATCH_BUCKETS 512u

struct copy_watch_calls {
	/* When the copy that completed @signal ran (CLOCK_BOOTTIME); false if unknown. */
	bool (*read)(uint64_t signal, uint64_t *ret_start_ns, uint64_t *ret_end_ns);
	/*
	 * Called once for each copy_watch() with the times, or with 0 and 0. On any thread; on the
	 * dispatch path only without times.
	 */
	void (*done)(uint64_t id, uint64_t start_ns, uint64_t end_ns);
};

/* Called in OnLoad, before there are copies. */
void copy_watch_begin(const struct copy_watch_calls *calls);

/*
 * Copy @id is about to be submitted with @signal. Returns false if it cannot be watched; then
 * done() was called. Otherwise the same thread has to call copy_watch_submitted().
 */
bool copy_watch(uint64_t signal, uint64_t id, uint64_t submit_ns);
/*
 * @ok: the copy has its record, so times may follow. Not @ok: there is no such copy, and done() is
 * not called.
 */
void copy_watch_submitted(uint64_t signal, uint64_t id, bool ok);

/* Number of signals that are watched; 0 most of the time. */
extern _Atomic uint32_t copy_watch_count;

/* The next use of the signal: a value is stored, it is destroyed, or a packet will complete it. */
void copy_watch_used_slowly(uint64_t signal);
void copy_watch_destroyed_slowly(uint64_t signal);
void copy_watch_packet_slowly(uint64_t signal);

static inline void copy_watch_used(uint64_t signal)
{
	if (__builtin_expect(atomic_load_explicit(&copy_watch_count, memory_order_acquire) != 0, 0))
		copy_watch_used_slowly(signal);
}

/* Returns when no thread reads the signal any more. */
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

/* Reads the signals that have fired. Returns whether any are still watched. */
bool copy_watch_poll(void);

/* Called in OnUnload: copies that have not finished by now end without times. */
void copy_watch_end(void);
