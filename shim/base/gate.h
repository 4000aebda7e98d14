/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether this process records now, as one word that the dispatch path loads once a packet.
 * Closed: queues stay virtualised (docs/shadow.md, rule 14), dispatches are counted as
 * skipped_filter, packets are left alone. The word is static: it is there before OnLoad and
 * after OnUnload, since ranges may be opened then.
 *
 * Who closes: the shim thread (control of the collector, times), application threads (steps,
 * pause and resume). They exchange the word; none waits. What the user chose is read from the
 * environment once, by whoever comes first.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/settings/selection.h"
#include "proto/names/control.h"

/* The word: what keeps it closed (enum control_closed), what else is asked of a dispatch, and
 * above them the number of changes so far, so that each change has a place of its own. */
#define GATE_CLOSED	0xffull
#define GATE_BY_KERNEL	0x100ull /* a symbol says of itself whether it is wanted */
#define GATE_BY_REGION	0x200ull /* thread_state()->region of the submitter */
#define GATE_CHANGE	(1ull << 32)
#define GATE_CHANGE_LSB 32

extern _Atomic uint64_t gate_word;
/* For the queues of a GPU that --gpus leaves out: closed for ever. */
extern const _Atomic uint64_t gate_shut;

/* ---- the dispatch path ------------------------------------------------------------------ */

/* @gate: &gate_word, or &gate_shut. Loaded after the packet's header was acquired, it is what
 * held when the packet was submitted, or later. */
static inline uint64_t gate_load(const _Atomic uint64_t *gate)
{
	return atomic_load_explicit(gate, memory_order_relaxed);
}

static inline bool gate_is_open(uint64_t word)
{
	return !(word & GATE_CLOSED);
}

/* Only the shim's thread can open it again, told by the collector or by the time; or a rank that is
 * said late (gate_set_rank()), which wakes that thread. */
static inline bool gate_is_shut(uint64_t word)
{
	return word & (CONTROL_DORMANT | CONTROL_TIME | CONTROL_RANK_OUT);
}

/* How often it was opened and closed. */
static inline uint32_t gate_changes(void)
{
	return (uint32_t)(gate_load(&gate_word) >> GATE_CHANGE_LSB);
}

/* ---- application threads, not on the dispatch path ---------------------------------------- */

/* roctxProfilerPause, roctxProfilerResume. */
void gate_pause(void);
void gate_resume(void);

/* Whether @text names a range of --region; false where there is no --region. Lock-free once a
 * text was seen. */
bool gate_region_matches(const char *text);

/* A range begins, or a mark is made: perhaps a step of --steps. */
void gate_step(const char *text);

/* A kernel's raw symbol, when it is defined: whether --kernels wants it. Under the symbols' lock.
 */
bool gate_wants_kernel(const char *symbol, size_t bytes);

/* ---- start: OnLoad ------------------------------------------------------------------------ */

/* What the user chose; the environment is read at the first call. *ret_why: NULL, or one line
 * on what was wrong with it (then everything is chosen). */
const struct choice *gate_choice(const char **ret_why);

/* fork's child: nobody else is inside of it any more. No lock, no allocation. */
void gate_forget(void);

/* For tests: chosen instead of what the environment says, in a process that begins. No thread may
 * be inside. */
void gate_choose(const struct choice *choice);

/* A rank that the user asked for, as all are where nothing was said. */
bool gate_wants_rank(bool has_rank, uint32_t rank);

/* The process says its rank later than at its beginning: --ranks may want it now, or no more. */
void gate_set_rank(bool has_rank, uint32_t rank);

/* An instance of the shim begins; @has_rank: @rank is known. @start_ns: CLOCK_BOOTTIME, what
 * --start-after counts from. */
void gate_begin(bool has_rank, uint32_t rank, uint64_t start_ns);

/* The word that queues of this GPU obey. */
const _Atomic uint64_t *gate_of_gpu(uint32_t gpu_id);

/* No packet of this process can ever be recorded: nothing needs to be ready for it. */
bool gate_is_never_open(void);

/* ---- the shim thread ------------------------------------------------------------------------ */

/*
 * Recording starts (or stops) because the collector says so; after @duration_ns, unless 0, the
 * other way round. A start begins --duration and --steps anew; --start-after is over. False: @seq
 * was applied before, or is older than what was.
 */
bool gate_control(uint64_t seq, bool record, uint64_t duration_ns);
/* The seq of the last one; 0: none. */
uint64_t gate_control_seq(void);

/* When gate_tick() has something to do, CLOCK_BOOTTIME; UINT64_MAX: nothing. */
uint64_t gate_next_ns(void);
void gate_tick(uint64_t now_ns);

/* One change from recording to not recording or back. */
struct gate_change {
	uint64_t at_ns; /* CLOCK_BOOTTIME; later than that of the change before */
	bool is_recording;
	enum control_why why;
	uint32_t passed_over; /* changes between the one taken before and this one */
};

/* The oldest change not yet taken; false: none. When changes come faster than they are taken,
 * the oldest are passed over, and counted in the next. */
bool gate_take_change(struct gate_change *ret);
