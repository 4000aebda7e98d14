/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Anchors: one instant as the GPU's ticks, CLOCK_BOOTTIME and CLOCK_REALTIME, with a bound on the
 * error between the first two, because each reading is taken between two readings of BOOTTIME.
 * Opened and first read in OnLoad, then used by the shim thread only. The first of four sources
 * that answers is used: the thunk of the runtime, if it is a separate library (through ROCm 6.2,
 * and the software GPU); the runtime's attribute for an agent's counters (from 7.0 on); KFD's ioctl
 * on our own descriptor; and the runtime's conversion of ticks (tick_point.h).
 */
#include <stdint.h>

#include "proto/recorder/layout.h"
#include "shim/hsa/agents.h"
#include "shim/hsa/tick_point.h"

struct clock_source {
	const struct agents *agents;
	int (*counters)(uint32_t node, void *ret); /* hsaKmtGetClockCounters, or NULL */
	/* hsa_agent_get_info() if it reports the counters of every GPU, else NULL */
	hsa_status_t (*agent_info)(hsa_agent_t agent, hsa_agent_info_t what, void *ret);
	int kfd;	       /* /dev/kfd, or -1 */
	uint64_t kfd_mark;     /* fd_mark() of kfd */
	tick_convert *convert; /* NULL if the runtime has no such function */
	struct tick_point point[RECORDER_GPUS];
	char runtime[256]; /* path of libhsa-runtime64, for Hello */
};

/* The file that the runtime was loaded from; "" if unknown. */
void clock_source_runtime(const struct hsa_table *table, char *path, size_t capacity);

void clock_source_open(
	const struct hsa_table *table, const struct agents *agents, struct clock_source *ret);
void clock_source_close(struct clock_source *source);

/* Name of the source in use, for RTL_DEBUG. */
const char *clock_source_name(const struct clock_source *source);

/* -EIO if the source does not answer, or no longer. */
int clock_source_read(struct clock_source *source, uint32_t gpu, struct recorder_anchor *ret);

/*
 * The frequency of a counter that went from @first to @last, rounded to the next crystal frequency
 * of AMD GPUs if that is within the error of the readings. 0 if it cannot be determined.
 */
uint64_t clock_source_estimate_hz(
	const struct recorder_anchor *first, const struct recorder_anchor *last);
