/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Packets that carry the application's own signal (rule 8): it is remembered, read when it
 * fires, and read early when something is about to overwrite its times. Never changed, apart
 * from zeroing its two timestamps at submit. Lock-free; any thread.
 *
 * What was read counts by the slot's claim word, generation and state. The application's threads
 * move PENDING or COUNTED to BUSY, read, and leave COUNTED (not finished, shared) or EARLY (the
 * result is in slot_private). Where it has just finished, as most have, they read first, move
 * PENDING to READ, write down the result and leave EARLY. The harvester reads first, and then moves
 * PENDING or COUNTED to EARLY. Who comes too late has read for nobody. The harvester alone turns
 * EARLY into a finished slot.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/capture/capture_internal.h"

enum appsig_use {
	APPSIG_PACKET,	/* another packet of the device's or a copy will write to it */
	APPSIG_STORE,	/* the host stores a value */
	APPSIG_DESTROY, /* its memory goes away: waits until nobody reads it */
};

/* Producer, before the packet is handed on. Sets kind, target and why of the slot. */
void appsig_watch(struct capture *c, slot_ref ref, uint64_t handle);

/* Before the signal is used for something else. */
void appsig_used(struct capture *c, uint64_t handle, enum appsig_use use);

/* Cold: of a dispatch with @handle in @ref's slot that was given up in the middle of
 * appsig_watch(). */
void appsig_forget(struct capture *c, slot_ref ref, uint64_t handle);

/* For tests: whether a packet with this signal, or with one in the same bucket, is watched. */
bool appsig_is_watched(struct capture *c, uint64_t handle);

enum appsig_state {
	APPSIG_PENDING,
	/* Times, and not fired: the device is between its two stores, or the signal was armed
	 * again behind our back. */
	APPSIG_DOUBTFUL,
	APPSIG_FIRED_NO_TIME, /* fired, times not there (yet) */
	APPSIG_FIRED_LATE,    /* likewise, or not its own yet: its device writes them late */
	APPSIG_FINISHED,      /* slot_private.why, start, end are final */
};

/* What a look is for. */
enum appsig_look {
	APPSIG_LOOK,
	APPSIG_LAST,   /* decide now whatever its state is */
	APPSIG_WAITED, /* likewise, after as long as times may be late: they are its own */
};

/* Harvester: a signal of ours fell before its times were there; others of the device's may, too. */
void appsig_late_seen(struct capture *c);
/* Of a kernel whose times nobody waits for: where there is a device that is late, they may come when
 * the signal is another's. */
void appsig_late_suspect(struct capture *c, uint64_t handle);

/* Harvester: has it finished? */
enum appsig_state appsig_poll(struct capture *c, slot_ref ref, enum appsig_look look);

/*
 * Any thread, ends.c: whether the packet has ended, as far as can be told without a claim; its
 * ticks where they are there by now, else what they point to is left as it is. Says nothing to
 * anybody: who has to act on it finds it out for himself.
 */
bool appsig_observe(struct capture *c, slot_ref ref, uint64_t *ret_start, uint64_t *ret_end);
