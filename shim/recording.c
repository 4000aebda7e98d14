/* SPDX-License-Identifier: MIT */
#include "shim/recording.h"

#include "proto/limits.h"
#include "proto/msg.h"
#include "shim/gate.h"
#include "shim/recorder.h"

/* 0, or what recorder_define() says. */
static int change_define(struct recorder *recorder, const struct gate_change *change)
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
	return recorder_define(recorder, packed, msg_pack(&frame, packed), RECORDER_DEFINE_WAIT);
}

bool recording_run(struct recorder *recorder)
{
	_Atomic uint64_t *taken = &recorder->header->process[RTL_P_controls_applied];
	struct gate_change change;
	bool is_new = false;

	while (gate_take_change(&change)) {
		is_new = true;
		/* The log is for names; the counters know how many there were. */
		if (atomic_load_explicit(taken, memory_order_relaxed) < RECORDINGS_MAX)
			(void)change_define(recorder, &change);
		else
			recorder_count(recorder, RTL_P_recordings_left_out, 1);
		recorder_count(recorder, RTL_P_controls_applied, 1);
	}
	atomic_store_explicit(&recorder->header->process[RTL_P_is_recording],
		gate_is_open(gate_load(&gate_word)), memory_order_relaxed);
	return is_new;
}
