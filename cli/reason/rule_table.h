/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The rules that find the reason, in their order, and their thresholds. They are the same rows as
 * the tables of docs/commands.md; lint.reason compares them.
 */

/* name, value, meaning */
#define REASON_THRESHOLDS(X)                                                                       \
	X(KERNELS, 50, "kernels with a time: of fewer nothing is said")                            \
	X(HANG_S, 10, "s for which a dispatch runs: then it hangs")                                \
	X(LATE_PCT, 5, "% of the time that the others wait for a rank")                            \
	X(PART_PCT, 10, "% of the time: a part that is smaller is not the reason")                 \
	X(SHORT_US, 20, "us that a kernel takes on average: then kernels are short")               \
	X(GAPS_PCT, 50, "% of the idle time in gaps below 100 us with empty queues")               \
	X(CAUSE_PCT, 50, "% of the idle time that one cause explains")                             \
	X(KIND_PCT, 90, "% of what a rank costs lies in one kind of steps: then that is said")     \
	X(KIND_TIME_PCT, 75, "% of the time that such a kind takes at most")                       \
	X(SAMPLE, 524288,                                                                          \
		"kernels: of more than that, so many in the middle of the file are looked at")

/* CODE, code, condition */
#define REASON_RULES(X)                                                                            \
	X(NOTHING, "nothing", "nothing was dispatched")                                            \
	X(UNTIMED, "untimed", "no kernel or copy has a time, or none is stored")                   \
	X(DIED, "died",                                                                            \
		"a process died of a fault: SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, "    \
		"SIGTRAP")                                                                         \
	X(HANG, "hang", "a dispatch runs for HANG_S, or did when its process died")                \
	X(FEW, "few", "fewer than KERNELS have one")                                               \
	X(EVENT, "event",                                                                          \
		"steps that are 5 times as long as the median and longer, or twice for one rank, " \
		"cost PART_PCT, and more than a rank; of one GPU, too")                            \
	X(SLOW_RANK, "slow_rank", "the others wait LATE_PCT for a rank, for its computation")      \
	X(LATE_RANK, "late_rank", "likewise, for its host, copies, transfers or idle time")        \
	X(FILTERED, "filtered",                                                                    \
		"kernels were left out by choice, and not for a time that is known: no share of "  \
		"the time is")                                                                     \
	X(LAUNCH_BOUND, "launch_bound",                                                            \
		"idle time, and waiting in collectives for ranks that launch late, is PART_PCT "   \
		"and the most of the three, kernels are short (SHORT_US), and GAPS_PCT of it "     \
		"lies "                                                                            \
		"in short gaps with nothing queued")                                               \
	X(EXPOSED_COMM, "exposed_comm",                                                            \
		"exposed communication is PART_PCT, and more than exposed copies and idle time")   \
	X(SLOW_COPIES, "slow_copies", "exposed copies are PART_PCT, and more than the other two")  \
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
