/* SPDX-License-Identifier: MIT */
#include "shim/record/recording_intervals.h"

#include <errno.h>
#include <stdatomic.h>

#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "shim/base/gate.h"
#include "shim/record/recorder.h"

/* Held while changes are taken, so that one thread at a time takes them, in order. */
static atomic_flag is_taking = ATOMIC_FLAG_INIT;

/* Returns 0 or the error of recorder_define(). */
static int change_define(
	struct recorder *recorder, const struct gate_change *change, enum recorder_define_how how)
{
	Rtl__RecordingDef definition = RTL__RECORDING_DEF__INIT;
	Rtl__RecordingDef *list[] = {&definition};
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	uint8_t packed[64]; /* a time, two small numbers, their tags and the frame around them */

	definition.has_at_ns = definition.has_is_recording = definition.has_why = 1;
	definition.at_ns = change->at_ns;
	definition.is_recording = change->is_recording;
	definition.why = change->why;
	defines.recordings = list;
	defines.n_recordings = 1;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	return recorder_define(recorder, packed, msg_pack(&frame, packed), how);
}

/*
 * The log is mainly for names, so it takes a limited number of changes; the counters have them all.
 */
static bool has_room(const struct recorder *recorder)
{
	const _Atomic uint64_t *counted = recorder->header->process;

	return atomic_load_explicit(&counted[RTL_P_controls_applied], memory_order_relaxed) -
		       atomic_load_explicit(
			       &counted[RTL_P_recordings_left_out], memory_order_relaxed) <
	       RECORDINGS_MAX;
}

static bool take_changes(struct recorder *recorder, enum recorder_define_how how)
{
	struct gate_change change;
	bool is_new = false;
	int r;

	while (gate_take_change(&change)) {
		is_new = true;
		r = has_room(recorder) ? change_define(recorder, &change, how) : -ENOSPC;
		if (r == -EAGAIN)
			how = RECORDER_DEFINE_TRY; /* it has waited once already */
		recorder_count(recorder, RTL_P_recordings_left_out, change.passed_over + (r < 0));
		recorder_count(recorder, RTL_P_controls_applied, change.passed_over + 1);
	}
	atomic_store_explicit(&recorder->header->process[RTL_P_is_recording],
		gate_is_open(gate_load(&gate_word)), memory_order_relaxed);
	return is_new;
}

bool recording_run(struct recorder *recorder)
{
	bool is_new;

	if (atomic_flag_test_and_set_explicit(&is_taking, memory_order_acquire))
		return false;
	is_new = take_changes(recorder, RECORDER_DEFINE_WAIT);
	atomic_flag_clear_explicit(&is_taking, memory_order_release);
	return is_new;
}

bool recording_end(struct recorder *recorder)
{
	bool is_done;

	if (atomic_flag_test_and_set_explicit(&is_taking, memory_order_acquire))
		return false;
	(void)take_changes(recorder, RECORDER_DEFINE_END);
	is_done = !gate_has_change();
	atomic_flag_clear_explicit(&is_taking, memory_order_release);
	return is_done;
}

void recording_forget(void)
{
	atomic_flag_clear_explicit(&is_taking, memory_order_relaxed);
}
