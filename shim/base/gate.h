/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The gate: whether this process records now, as one word that the dispatch path loads once per
 * packet. While it is closed, queues stay virtualised (docs/capture.md, rule 14), dispatches are
 * counted as skipped_filter, and packets are left alone. The word is static, so it exists before
 * OnLoad and after OnUnload, when ranges may be opened, too.
 *
 * The shim thread closes it (request of the collector, times), and so do application threads
 * (steps, pause and resume). They exchange the word; no thread waits. The environment is read once,
 * by the first thread that needs the user's choice.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/settings/selection.h"
#include "proto/names/control.h"

/*
 * Layout of the word: the causes that keep the gate closed (enum control_closed), then further
 * conditions on a dispatch, then the number of changes so far, which gives each change a slot of
 * its own.
 */
#define GATE_CLOSED	0xffull
#define GATE_BY_KERNEL	0x100ull /* each symbol knows whether --kernels selects it */
#define GATE_BY_REGION	0x200ull /* compare thread_state()->region of the submitting thread */
#define GATE_CHANGE	(1ull << 32)
#define GATE_CHANGE_LSB 32

extern _Atomic uint64_t gate_word;
/* The word of queues on a GPU that --gpus leaves out: closed for good. */
extern const _Atomic uint64_t gate_shut;

/* ---- the dispatch path ------------------------------------------------------------------ */

/*
 * @gate is &gate_word or &gate_shut. Loaded after the packet's header was acquired, the value is
 * the one at the time of submission, or a later one.
 */
static inline uint64_t gate_load(const _Atomic uint64_t *gate)
{
	return atomic_load_explicit(gate, memory_order_relaxed);
}

static inline bool gate_is_open(uint64_t word)
{
	return !(word & GATE_CLOSED);
}

/*
 * Whether only the shim thread can open the gate again, when the collector or a timer says so. A
 * rank that becomes known late (gate_set_rank()) opens it too, and wakes that thread.
 */
static inline bool gate_is_shut(uint64_t word)
{
	return word & (CONTROL_DORMANT | CONTROL_TIME | CONTROL_RANK_OUT);
}

/* How many times the gate was opened or closed. */
static inline uint32_t gate_changes(void)
{
	return (uint32_t)(gate_load(&gate_word) >> GATE_CHANGE_LSB);
}

/* ---- application threads, not on the dispatch path ---------------------------------------- */

/* roctxProfilerPause, roctxProfilerResume. */
void gate_pause(void);
void gate_resume(void);

/*
 * Whether @text names a range of --region; false without --region. Lock-free for a text that was
 * asked for before.
 */
bool gate_region_matches(const char *text);

/* Called when a range begins or a mark is made, which may be a step of --steps. */
void gate_step(const char *text);

/*
 * Whether --kernels selects this raw symbol. Called when the kernel is defined, under the symbols'
 * lock.
 */
bool gate_wants_kernel(const char *symbol, size_t bytes);

/* ---- start: OnLoad ------------------------------------------------------------------------ */

/*
 * What the user chose. The first call reads the environment. *ret_why is NULL, or one line that
 * says what was wrong with it; then everything is recorded.
 */
const struct choice *gate_choice(const char **ret_why);

/*
 * For the child of fork(), where no other thread is inside the gate. Takes no lock, allocates
 * nothing.
 */
void gate_forget(void);

/* For tests: replaces what the environment says. No other thread may be inside the gate. */
void gate_choose(const struct choice *choice);

/* Whether --ranks selects this rank; without --ranks every rank is selected. */
bool gate_wants_rank(bool has_rank, uint32_t rank);

/* The process learned its rank after its start: --ranks may select it only now, or no longer. */
void gate_set_rank(bool has_rank, uint32_t rank);

/*
 * An instance of the shim starts. @rank counts if @has_rank. --start-after counts from @start_ns
 * (CLOCK_BOOTTIME).
 */
void gate_begin(bool has_rank, uint32_t rank, uint64_t start_ns);

/* The gate word for queues on this GPU. */
const _Atomic uint64_t *gate_of_gpu(uint32_t gpu_id);

/*
 * Whether no packet of this process will be recorded unless its rank changes, so that nothing needs
 * to be prepared.
 */
bool gate_is_never_open(void);

/* ---- the shim thread ------------------------------------------------------------------------ */

/*
 * The collector tells the process to start or stop recording, and, unless @duration_ns is 0, to do
 * the opposite after that time. A start restarts --duration and --steps, and ends --start-after.
 * Returns false if @seq is not newer than the last one applied.
 */
bool gate_control(uint64_t seq, bool record, uint64_t duration_ns);
/* The @seq of the last gate_control(); 0 if there was none. */
uint64_t gate_control_seq(void);

/* When gate_tick() has to be called next (CLOCK_BOOTTIME); UINT64_MAX if never. */
uint64_t gate_next_ns(void);
void gate_tick(uint64_t now_ns);

/* One transition between recording and not recording. */
struct gate_change {
	uint64_t at_ns; /* CLOCK_BOOTTIME; later than that of the previous change */
	bool is_recording;
	enum control_why why;
	uint32_t passed_over; /* changes lost between the one taken before and this one */
};

/*
 * Takes the oldest change that was not taken yet; false if there is none. If changes come faster
 * than they are taken, the oldest are lost, and the next one counts them.
 */
bool gate_take_change(struct gate_change *ret);
/*
 * Whether a change is left, perhaps one that another thread is still writing. Called by the thread
 * that takes them.
 */
bool gate_has_change(void);
