/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Why a process does not record at the moment, and what made it begin or end: once for the shim
 * (its gate), the wire (ControlDone.closed, RecordingDef.why), the database and the cli. Append
 * only. The functions have no side effects.
 */
#include <stdint.h>

/* A set of bits; 0: it records. Several may hold at once. */
enum control_closed {
	CONTROL_RANK_OUT = 1u << 0, /* --ranks leaves this rank out: for its whole life */
	CONTROL_DORMANT = 1u << 1,  /* --dormant, or stopped from outside */
	CONTROL_TIME = 1u << 2,	    /* --start-after is not over, or --duration is */
	CONTROL_STEPS = 1u << 3,    /* --steps: no active step */
	CONTROL_PROGRAM = 1u << 4,  /* the program paused it: roctxProfilerPause */
};

enum control_why {
	CONTROL_WHY_START,   /* the process started in this state */
	CONTROL_WHY_TIME,    /* --start-after, --duration */
	CONTROL_WHY_STEPS,   /* --steps */
	CONTROL_WHY_CONTROL, /* rtl ctl */
	CONTROL_WHY_PROGRAM, /* roctxProfilerPause, roctxProfilerResume */
	CONTROL_WHY_COUNT,
};

/* "start", ...; NULL beyond. What rtl_recording.why holds. */
const char *control_why_name(unsigned why);

/* The state for a table: "yes" if it records, else the most lasting cause, such as "dormant". */
const char *control_state_name(uint32_t closed);

/* Half a sentence for a user: "records", or the most lasting cause that keeps it from recording. */
const char *control_state_text(uint32_t closed);
