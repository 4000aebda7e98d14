/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The names of all counters and reasons, once: shim (memory layout), wire (order of values),
 * daemon (rtl_counter, rtl_loss) and cli use these tables. Append only: the order is the
 * wire's and the recorder's.
 *
 * The identity, per queue and in sum (docs/architecture.md):
 *   dispatched = skipped[*] + stored + outstanding + dropped[*] + torn + pending
 *   stored     = timed + untimed[*]
 * `dispatched` counts kernel dispatch packets; skipped_not_kernel counts other packets and is
 * outside the identity. `torn`, `outstanding` and `pending` are known to the daemon only.
 */
#include <stdint.h>

/* Per queue, written by the queue's producer (one writer: the holder of the queue's walk). */
#define RTL_QUEUE_COUNTERS_PRODUCER(X)                                                             \
	X(dispatched)		  /* kernel dispatch packets seen; its value is the next seq */        \
	X(intercept_calls)	  /* walks (shadow) or callbacks (intercept queue) */                  \
	X(signals_injected)	  /* our signal put into a packet that had none */                     \
	X(own_signals_seen)	  /* packets that carried the application's signal */                  \
	X(skipped_not_kernel)	  /* barriers, vendor packets: not part of the identity */             \
	X(skipped_shutdown)	  /* after OnUnload or in a forked child */                            \
	X(skipped_filter)	  /* the user asked not to record it */                                \
	X(skipped_coop)		  /* on a cooperative queue, left plain */                             \
	X(skipped_no_queue_info)  /* on a queue that we could not follow */                            \
	X(dropped_recorder_full)  /* no free slot: the only place where a dispatch is dropped */       \
	X(unstamped)		  /* left without a signal on purpose (batch tail, dry pool) */        \
	X(housekeeping_publishes) /* walked by the harvester: doorbell bypassed or early */            \
	X(foreign_writers)	  /* write index changed behind our back */                            \
	X(unlinked)		  /* host calls are recorded, this one's was not seen (dlsym, ...) */  \
	X(unattributed)		  /* reserved too far ahead, or behind our back: no thread, no call */

/* Per queue, written by the harvester. */
#define RTL_QUEUE_COUNTERS_HARVESTER(X)                                                            \
	X(recorded)		      /* harvested with a valid time */                                \
	X(own_signals_read)	      /* of those, from the application's own signal */                \
	X(untimed_shared)	      /* the signal serves several packets at once */                  \
	X(untimed_ipc)		      /* IPC signal: times are not readable here */                    \
	X(untimed_early)	      /* completed, its signal re-used before we read it */            \
	X(untimed_signal_pool)	      /* no signal could be given */                                   \
	X(untimed_timestamp_invalid)  /* end before start, or zero */                                  \
	X(untimed_timestamp_failed)   /* the device ran it without our signal (missed, rule 4) */      \
	X(untimed_unstamped)	      /* see unstamped */                                              \
	X(missed)		      /* proven by the barrier rule: an alarm under shadow */          \
	X(unresolved)		      /* queue destroyed before its completion was seen */             \
	X(untimed_mode)		      /* the mode that the user chose leaves it without a time */

/* Per process, written by the harvester or the cold hooks. */
#define RTL_PROCESS_COUNTERS(X)                                                                    \
	X(queues_created)                                                                          \
	X(queues_followed) /* by a front end; the rest is left plain */                            \
	X(queues_destroyed)                                                                        \
	X(queues_coop)	     /* cooperative: left plain */                                         \
	X(queues_ineligible) /* could not be followed, or too many */                              \
	X(symbols_defined)                                                                         \
	X(symbols_unknown)  /* dispatched without a known symbol: kernel@0x... */                  \
	X(names_overflowed) /* define log full: <name-overflow> */                                 \
	X(markers_begun)                                                                           \
	X(markers_ended)                                                                           \
	X(dropped_markers) /* marker ring full */                                                  \
	X(frames_published)                                                                        \
	X(bytes_published)                                                                         \
	X(connects)                                                                                \
	X(refused)	   /* by the collector */                                                  \
	X(sent_again)	   /* frames sent more than once, after a reconnect */                     \
	X(time_violations) /* starts before its submit beyond the clock's error; the collector's   \
			    */                                                                     \
	X(clock_anchors)                                                                           \
	X(anchor_failures)                                                                         \
	X(signals_created)                                                                         \
	X(slots_used)	  /* high water */                                                         \
	X(calls_begun)	  /* host calls (HIP, RCCL) that were entered */                           \
	X(calls_recorded) /* ... and left: begun less recorded and dropped were open at the end */ \
	X(dropped_calls)  /* call ring full */                                                     \
	X(collectives_recorded)                                                                    \
	X(copies_recorded)                                                                         \
	X(dropped_copies)   /* call ring full */                                                   \
	X(controls_applied) /* starts and stops, of the collector or of the user's own schedule */ \
	X(is_recording)	    /* 0: dormant; dispatches count as skipped_filter */                   \
	X(clock_regressions)  /* anchors that go back; the collector's (rtl_clock_check) */        \
	X(queues_intercepted) /* of queues_followed, by ROCr's intercept queue */                  \
	X(copies_timed)	   /* of copies_recorded, those whose times were asked for and read ... */ \
	X(copies_untimed)  /* ... and those whose were not to be had */                            \
	X(copies_filtered) /* the user asked not to record them */                                 \
	X(slots_grown)	   /* of slots_used, those that a dispatch had to make for itself */       \
	X(recordings_left_out) /* of controls_applied: no room or too fast, in no rtl_recording */ \
	X(shapes_coarse) /* no room for all of them: rows without geometry, or without a kernel */ \
	X(rings_moved) /* of queues_created: in host memory, where the program wanted the GPU's */ \
	X(copy_queues_unseen) /* of copy engines, filled by the program itself: copies of no count \
			       */                                                                  \
	X(runtimes_ignored) /* further HSA runtimes in the process: nothing of them is recorded */ \
	X(unwrapped_roctx)  /* 1: the program's calls of roctx do not come by us */                \
	X(unwrapped_rccl)   /* 1: nor those of RCCL */                                             \
	X(unwrapped_hip)    /* 1: nor those of HIP, which the mode records */                      \
	X(walks_rescued)    /* a handler jumped out of a doorbell, or a thread ended in it */      \
	X(thread_us)	    /* processor time of the shim's thread, until it last sent something */

#define RTL_ENUM_QUEUE(name)   RTL_Q_##name,
#define RTL_ENUM_PROCESS(name) RTL_P_##name,
#define RTL_COUNTER_NAME(name) #name,

enum rtl_queue_counter {
	RTL_QUEUE_COUNTERS_PRODUCER(RTL_ENUM_QUEUE)
	RTL_Q_PRODUCER_COUNT,
	RTL_Q_HARVESTER_FIRST = RTL_Q_PRODUCER_COUNT,
	RTL_Q_HARVESTER_BEFORE = RTL_Q_HARVESTER_FIRST - 1,
	RTL_QUEUE_COUNTERS_HARVESTER(RTL_ENUM_QUEUE)
	RTL_Q_COUNT,
};

enum rtl_process_counter {
	RTL_PROCESS_COUNTERS(RTL_ENUM_PROCESS)
	RTL_P_COUNT,
};

/* Names in enum order; defined in counters.c. */
extern const char *const rtl_queue_counter_name[];
extern const char *const rtl_process_counter_name[];

/* Why a stored dispatch has no time; the values are the wire's (Dispatches.untimed_why). */
enum rtl_untimed {
	RTL_TIMED = 0,
	RTL_UNTIMED_SHARED,
	RTL_UNTIMED_IPC,
	RTL_UNTIMED_EARLY,
	RTL_UNTIMED_SIGNAL_POOL,
	RTL_UNTIMED_TIMESTAMP_INVALID,
	RTL_UNTIMED_TIMESTAMP_FAILED,
	RTL_UNTIMED_UNSTAMPED,
	RTL_UNTIMED_MODE,
	RTL_UNTIMED_COUNT,
};

/* "untimed_shared", ...; NULL for RTL_TIMED and beyond. Defined in counters.c. */
const char *rtl_untimed_name(unsigned why);

/* Markers.text: the next of Markers.inline_text. */
#define RTL_MARKER_TEXT_INLINE UINT32_MAX

enum rtl_marker_kind {
	RTL_MARKER_BEGIN_PUSH = 1, /* roctxRangePush */
	RTL_MARKER_BEGIN_START,	   /* roctxRangeStart: may end on another thread */
	RTL_MARKER_END,
	RTL_MARKER_MARK, /* an instant */
	/* A name that the program gives; `parent` is what it is of. */
	RTL_MARKER_NAME_THREAD, /* kernel's id */
	RTL_MARKER_NAME_AGENT,	/* hsa_agent_t.handle */
	RTL_MARKER_NAME_DEVICE, /* HIP's ordinal */
	RTL_MARKER_NAME_STREAM, /* hipStream_t */
	RTL_MARKER_KINDS,
};
