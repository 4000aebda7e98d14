/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The rules by which the reason is found, in their order, and their thresholds: the same rows as
 * the tables of docs/reason.md (lint.reason compares them).
 */

/* name, value, what it is held against */
#define REASON_THRESHOLDS(X)                                                                       \
	X(KERNELS, 50, "kernels with a time: of fewer nothing is said")                            \
	X(LATE_PCT, 5, "% of the time that a rank's lateness or extra computation costs")          \
	X(SLOW_PCT, 110, "% of the median rank's time for a kernel: slower than that is slow")     \
	X(ERRORS, 4, "standard errors of that: a rank that is slower by less may be so by chance") \
	X(ALIKE_PCT, 5, "% by which the kernels of ranks that do the same may differ in number")   \
	X(PART_PCT, 10, "% of the time: a part that is smaller is not the reason")                 \
	X(APART_PCT, 10, "points above the mean of all: then one GPU is named")                    \
	X(SHORT_US, 20, "us that a kernel takes on average: then kernels are short")               \
	X(GAPS_PCT, 50, "% of the kernels that begin after an idle time: then each waits")         \
	X(CAUSE_PCT, 50, "% of the idle time that one cause explains")                             \
	X(GROUP_PCT, 10,                                                                           \
		"% of the kernels of the GPU with most: one with fewer does not stand out")        \
	X(SAMPLE, 131072,                                                                          \
		"kernels: of more than that, so many in the middle of the file are looked at")

/* CODE, code, when */
#define REASON_RULES(X)                                                                            \
	X(NOTHING, "nothing", "nothing was dispatched")                                            \
	X(UNTIMED, "untimed", "no kernel or copy has a time, or none is stored")                   \
	X(FEW, "few", "fewer than KERNELS have one")                                               \
	X(SLOW_RANK, "slow_rank",                                                                  \
		"a rank arrives last in collectives for its computation, at LATE_PCT; or ranks "   \
		"do "                                                                              \
		"the same (ALIKE_PCT), and one takes SLOW_PCT for it, at LATE_PCT")                \
	X(LATE_RANK, "late_rank",                                                                  \
		"a rank arrives last in collectives, at LATE_PCT, for its host, copies or idle "   \
		"time")                                                                            \
	X(EXPOSED_COMM, "exposed_comm",                                                            \
		"exposed communication is PART_PCT, and more than exposed copies and idle time")   \
	X(SLOW_COPIES, "slow_copies", "exposed copies are PART_PCT, and more than the other two")  \
	X(LAUNCH_BOUND, "launch_bound",                                                            \
		"idle time is PART_PCT and the most of the three, kernels are short (SHORT_US), "  \
		"and GAPS_PCT of them wait")                                                       \
	X(HOST_SYNC, "host_sync",                                                                  \
		"idle time, likewise; CAUSE_PCT of it the host waits for the GPU")                 \
	X(LATE_HOST, "late_host", "idle time, likewise; CAUSE_PCT of it nothing is submitted")     \
	X(HOST_IN_RCCL, "host_in_rccl",                                                            \
		"idle time, likewise; CAUSE_PCT of it the host is inside RCCL")                    \
	X(HELD_BACK, "held_back",                                                                  \
		"idle time, likewise; CAUSE_PCT of it a kernel is submitted and does not start")   \
	X(IDLE, "idle", "idle time, likewise, for several causes")                                 \
	X(NONE, "none", "else")

enum {
#define REASON_THRESHOLD(name, value, text) REASON_##name = (value),
	REASON_THRESHOLDS(REASON_THRESHOLD)
#undef REASON_THRESHOLD
};

enum reason_code {
#define REASON_CODE(name, code, when) REASON_IS_##name,
	REASON_RULES(REASON_CODE)
#undef REASON_CODE
		REASON_CODES,
};
