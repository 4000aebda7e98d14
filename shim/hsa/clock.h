/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Anchors: one instant on three axes, the GPU's ticks, CLOCK_BOOTTIME and CLOCK_REALTIME, and a
 * bound on how far the first two may be apart: each reading is taken between two of BOOTTIME.
 * Opened in OnLoad and first read there, then by the shim's thread only. Four ways, of which the
 * first that answers is taken: the thunk that the runtime itself uses, where it is a library of its
 * own (through ROCm 6.2, and the software GPU); the runtime's word for an agent's counters
 * (from 7.0 on); KFD's ioctl on a descriptor of our own; and the runtime's conversion of ticks
 * (tick_point.h).
 */
#include <stdint.h>

#include "proto/recorder/layout.h"
#include "shim/hsa/agents.h"
#include "shim/hsa/tick_point.h"

struct clock_source {
	const struct agents *agents;
	int (*counters)(uint32_t node, void *ret); /* hsaKmtGetClockCounters, or NULL */
	/* hsa_agent_get_info(), where it knows the counters of every GPU; or NULL */
	hsa_status_t (*agent_info)(hsa_agent_t agent, hsa_agent_info_t what, void *ret);
	int kfd;	       /* /dev/kfd, or -1 */
	uint64_t kfd_mark;     /* fd.h */
	tick_convert *convert; /* or NULL */
	struct tick_point point[RECORDER_GPUS];
	char runtime[256]; /* path of libhsa-runtime64, for Hello */
};

/* The file that the runtime was loaded from, "" where that is unknown. */
void clock_source_runtime(const struct hsa_table *table, char *path, size_t capacity);

void clock_source_open(
	const struct hsa_table *table, const struct agents *agents, struct clock_source *ret);
void clock_source_close(struct clock_source *source);

/* Which of the four ways is taken, for RTL_DEBUG. */
const char *clock_source_name(const struct clock_source *source);

/* -EIO: the clock does not answer (any more). */
int clock_source_read(struct clock_source *source, uint32_t gpu, struct recorder_anchor *ret);

/*
 * The frequency of a counter that went from @first to @last, taken to the next of the crystals
 * that AMD GPUs have when it is one within the reading's error. 0: no way to tell.
 */
uint64_t clock_source_estimate_hz(
	const struct recorder_anchor *first, const struct recorder_anchor *last);
