/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Watches packets that carry a completion signal of the application (rule 8): the shim remembers
 * the packet, reads the signal when it fires, and reads it early if something is about to overwrite
 * its times. The signal is never changed, except that its two timestamps are zeroed at submission.
 * Lock-free; any thread.
 *
 * Concurrent readers are ordered by the slot's claim word, which has a generation and a state. An
 * application thread moves PENDING or COUNTED to BUSY, reads, and leaves COUNTED (not finished,
 * shared) or EARLY (the result is in slot_private). If the packet has just finished, as most have,
 * the thread reads first, moves PENDING to READ, writes the result and leaves EARLY. The harvester
 * reads first and then moves PENDING or COUNTED to EARLY. A thread whose move fails discards what
 * it has read. Only the harvester turns EARLY into a finished slot.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/capture/capture_internal.h"

enum appsig_use {
	APPSIG_PACKET,	/* another packet of the device, or a copy, will write to it */
	APPSIG_STORE,	/* the host stores a value */
	APPSIG_DESTROY, /* its memory is freed: waits until no thread reads it */
};

/*
 * Called by the producer before the packet is visible to the device. Sets kind, target and why of
 * the slot.
 */
void appsig_watch(struct capture *c, slot_ref ref, uint64_t handle);

/* Called before the signal is used for something else. */
void appsig_used(struct capture *c, uint64_t handle, enum appsig_use use);

/*
 * Cold: for a dispatch with signal @handle and slot @ref whose appsig_watch() was left half done.
 */
void appsig_forget(struct capture *c, slot_ref ref, uint64_t handle);

/* For tests: whether a packet with this signal, or with another one in its bucket, is watched. */
bool appsig_is_watched(struct capture *c, uint64_t handle);

enum appsig_state {
	APPSIG_PENDING,
	/*
	 * Has times but has not fired: the device is between its two stores, or the program set the
	 * signal again past the hooks.
	 */
	APPSIG_DOUBTFUL,
	APPSIG_FIRED_NO_TIME, /* fired; its times are not there yet, or never will be */
	/*
	 * Fired, but the times may be those of an earlier use, since this device writes them late.
	 */
	APPSIG_FIRED_LATE,
	APPSIG_FINISHED, /* slot_private.why, start, end are final */
};

/* What appsig_poll() is called for. */
enum appsig_effort {
	APPSIG_POLL,
	APPSIG_LAST, /* decides now, whatever the state is */
	/* Decides after the longest delay of times, so those in the signal are its own. */
	APPSIG_WAITED,
};

/*
 * Called by the harvester when one of our own signals fired before its times were there: the device
 * may do so with others, too.
 */
void appsig_late_seen(struct capture *c);
/*
 * For a kernel that is recorded without times: if a device writes times late, they may arrive when
 * the signal is already used again.
 */
void appsig_late_suspect(struct capture *c, uint64_t handle);

/* Called by the harvester: has the packet finished? */
enum appsig_state appsig_poll(struct capture *c, slot_ref ref, enum appsig_effort effort);

/*
 * Called by any thread, for ends.c: whether the packet has ended, as far as this can be seen
 * without a claim. Stores its ticks if they are there, else leaves *ret_start and *ret_end
 * unchanged. Changes no state, so other threads decide for themselves.
 */
bool appsig_observe(struct capture *c, slot_ref ref, uint64_t *ret_start, uint64_t *ret_end);
