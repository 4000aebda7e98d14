/* SPDX-License-Identifier: MIT */
#include "shim/base/gate.h"

#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/base/glibc_compat.h"
#include "shim/base/wait.h"
#include "shim/base/wakeup.h"

/* Changes that may wait for the shim thread, which takes them at least every 20 ms. */
#define CHANGES_MAX	  1024u
/* Texts whose result is cached: a program has a few kinds of ranges, plus one per step. */
#define REGION_TEXTS_MAX  4096u
#define REGION_PROBES_MAX 8u

_Atomic uint64_t gate_word;
const _Atomic uint64_t gate_shut = CONTROL_DORMANT;

/*
 * STALE: the choice is valid, but the compiled expressions are not: a thread of fork()'s parent may
 * have held their lock.
 */
enum gate_read { READ_NOT, READ_STALE, READ_UNDER_WAY, READ_DONE };

/* A slot may be overwritten with a newer change while it is read; `turn` reveals that. */
struct change_slot {
	_Atomic uint32_t turn; /* number of the change + 1; written last */
	_Atomic uint32_t what; /* why << 1 | is_recording */
	_Atomic uint64_t at_ns;
};

static struct gate {
	_Atomic uint32_t read; /* enum gate_read; from READ_DONE on, what follows is constant */
	struct choice choice;
	char why[CHOICE_WHY_BYTES]; /* "" if the environment was good */
	regex_t kernels, region, step_marker;

	_Atomic uint64_t steps; /* step markers since the schedule began */
	struct change_slot change[CHANGES_MAX];
	/* Hash of a text << 1 | whether it matches; 0 if free; entries are never removed. */
	_Atomic uint64_t region_text[REGION_TEXTS_MAX];

	/* Only the thread that takes changes uses the rest. */
	uint32_t taken; /* number of changes taken */
	uint64_t taken_ns;
	uint32_t passed_over; /* since the last one that was taken */
	uint64_t control_seq;
	uint64_t next_ns; /* UINT64_MAX if no timer is set */
	bool opens_next;
	enum control_why next_why;
} gate = {.next_ns = UINT64_MAX};

/* ---- what the user chose ---------------------------------------------------------------- */

static const char *step_marker_text(const struct choice *choice)
{
	return choice->step_marker ? choice->step_marker : CHOICE_STEP_MARKER_DEFAULT;
}

/*
 * The expressions have compiled once already, so only memory can be missing; then everything is
 * recorded.
 */
static void compile_all(void)
{
	struct choice *c = &gate.choice;
	bool is_good = true;

	if (c->kernels)
		is_good &= !regcomp(&gate.kernels, c->kernels, REG_EXTENDED | REG_NOSUB);
	if (c->region)
		is_good &= !regcomp(&gate.region, c->region, REG_EXTENDED | REG_NOSUB);
	if (c->steps.active)
		is_good &=
			!regcomp(&gate.step_marker, step_marker_text(c), REG_EXTENDED | REG_NOSUB);
	if (is_good)
		return;
	*c = (struct choice){0};
	strcpy(gate.why, "no memory for its regular expressions");
}

/*
 * The first thread reads; the others wait for it, and no signal handler of the program interrupts
 * it.
 */
static void read_or_wait(uint32_t state)
{
	unsigned checks = 0;

	if (state == READ_UNDER_WAY ||
		!atomic_compare_exchange_strong(&gate.read, &state, READ_UNDER_WAY)) {
		while (atomic_load_explicit(&gate.read, memory_order_acquire) != READ_DONE)
			wait_between_checks(&checks);
		return;
	}
	/* The caller of a setuid program controls its environment, so it is not read. */
	if (state == READ_NOT && !getauxval(AT_SECURE))
		(void)choice_read((const char *const *)environ, &gate.choice, gate.why);
	compile_all();
	atomic_store_explicit(&gate.read, READ_DONE, memory_order_release);
}

static void gate_read(void)
{
	uint32_t state = atomic_load_explicit(&gate.read, memory_order_acquire);
	sigset_t all, saved;

	if (state == READ_DONE)
		return;
	/* A signal handler that opens a range would wait for the thread that it interrupts. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	read_or_wait(state);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

void gate_forget(void)
{
	uint32_t state = atomic_load_explicit(&gate.read, memory_order_relaxed);

	/*
	 * The parent's expressions are not freed: a thread of the parent may have left them half
	 * modified.
	 */
	if (state == READ_UNDER_WAY)
		gate.choice = (struct choice){0};
	atomic_store_explicit(
		&gate.read, state == READ_DONE ? READ_STALE : READ_NOT, memory_order_relaxed);
}

void gate_choose(const struct choice *choice)
{
	gate_read();
	if (gate.choice.kernels)
		regfree(&gate.kernels);
	if (gate.choice.region)
		regfree(&gate.region);
	if (gate.choice.steps.active)
		regfree(&gate.step_marker);
	for (uint32_t i = 0; i < REGION_TEXTS_MAX; i++)
		atomic_store_explicit(&gate.region_text[i], 0, memory_order_relaxed);
	gate.choice = *choice;
	gate.why[0] = '\0';
	gate.control_seq = 0;
	atomic_store(&gate.steps, 0);
	atomic_fetch_and(&gate_word, ~GATE_CLOSED);
	compile_all();
}

const struct choice *gate_choice(const char **ret_why)
{
	gate_read();
	if (ret_why)
		*ret_why = gate.why[0] ? gate.why : NULL;
	return &gate.choice;
}

/* ---- the word ------------------------------------------------------------------------------ */

static void change_put(uint32_t number, uint64_t at_ns, bool is_recording, enum control_why why)
{
	struct change_slot *slot = &gate.change[number % CHANGES_MAX];

	/* Release: a reader that sees one of these values also sees turn == 0. */
	atomic_store_explicit(&slot->turn, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->at_ns, at_ns, memory_order_release);
	atomic_store_explicit(&slot->what, (uint32_t)why << 1 | is_recording, memory_order_release);
	atomic_store_explicit(&slot->turn, number + 1, memory_order_release);
}

/*
 * The number of a change is part of the word, so the changes of all threads have one order. An
 * opening reads its time between load and exchange, a closing after it: a dispatch reads its time
 * between two looks at the gate, so it lies in the interval, but for the error of its queue's clock
 * line.
 */
static void word_set(uint64_t clear, uint64_t set, enum control_why why)
{
	uint64_t old = atomic_load(&gate_word);
	uint64_t new, at_ns = 0;
	bool is_change;

	do {
		new = (old & ~clear) | set;
		is_change = gate_is_open(new) != gate_is_open(old);
		if (is_change) {
			at_ns = clock_boottime_ns();
			new += GATE_CHANGE;
		}
	} while (!atomic_compare_exchange_weak(&gate_word, &old, new));
	if (is_change && !gate_is_open(new)) {
		uint64_t end_ns = clock_boottime_ns();

		/* Another thread may have opened it in between, at an earlier time. */
		if (atomic_load(&gate_word) >> GATE_CHANGE_LSB == new >> GATE_CHANGE_LSB)
			at_ns = end_ns;
	}
	if (is_change)
		change_put((uint32_t)(old >> GATE_CHANGE_LSB), at_ns, gate_is_open(new), why);
}

bool gate_has_change(void)
{
	return gate.taken != (uint32_t)(atomic_load(&gate_word) >> GATE_CHANGE_LSB);
}

bool gate_take_change(struct gate_change *ret)
{
	uint32_t made = (uint32_t)(atomic_load(&gate_word) >> GATE_CHANGE_LSB);

	if (made - gate.taken > CHANGES_MAX) {
		gate.passed_over += made - CHANGES_MAX - gate.taken;
		gate.taken = made - CHANGES_MAX;
	}
	for (; gate.taken != made; gate.taken++, gate.passed_over++) {
		struct change_slot *slot = &gate.change[gate.taken % CHANGES_MAX];
		uint32_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
		uint64_t at_ns = atomic_load_explicit(&slot->at_ns, memory_order_acquire);
		uint32_t what = atomic_load_explicit(&slot->what, memory_order_acquire);

		/* The word announces the change, but it is not written yet: try again later. */
		if (turn != gate.taken + 1 && (int32_t)(turn - gate.taken - 1) <= 0)
			return false;
		if (turn != gate.taken + 1 ||
			atomic_load_explicit(&slot->turn, memory_order_relaxed) != turn)
			continue; /* a newer change has overwritten it */
		if (at_ns <= gate.taken_ns)
			at_ns = gate.taken_ns + 1;
		gate.taken_ns = at_ns;
		gate.taken++;
		*ret = (struct gate_change){
			.at_ns = at_ns,
			.is_recording = what & 1,
			.why = (enum control_why)(what >> 1),
			.passed_over = gate.passed_over,
		};
		gate.passed_over = 0;
		return true;
	}
	return false;
}

/* ---- application threads --------------------------------------------------------------------- */

void gate_pause(void)
{
	word_set(0, CONTROL_PROGRAM, CONTROL_WHY_PROGRAM);
}

void gate_resume(void)
{
	word_set(CONTROL_PROGRAM, 0, CONTROL_WHY_PROGRAM);
}

static bool matches(const regex_t *regex, const char *text, size_t bytes)
{
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)bytes};

	return !regexec(regex, text, 1, &range, REG_STARTEND);
}

bool gate_wants_kernel(const char *symbol, size_t bytes)
{
	gate_read();
	return !gate.choice.kernels || matches(&gate.kernels, symbol, bytes);
}

/* FNV-1a; never 0, with room for one bit. */
static uint64_t text_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	hash ^= hash >> 32;
	return (hash | 1ull << 62) << 1;
}

/*
 * Results are cached, because regexec() takes a lock and memory, and the same texts come again and
 * again.
 */
bool gate_region_matches(const char *text)
{
	uint64_t hash, entry;
	uint32_t at;
	bool is_match;

	gate_read();
	if (!gate.choice.region || !text)
		return false;
	hash = text_hash(text);
	at = (uint32_t)(hash >> 1) % REGION_TEXTS_MAX;
	for (uint32_t i = 0; i < REGION_PROBES_MAX; i++) {
		entry = atomic_load_explicit(
			&gate.region_text[(at + i) % REGION_TEXTS_MAX], memory_order_relaxed);
		if ((entry & ~1ull) == hash)
			return entry & 1;
		if (!entry)
			break;
	}
	is_match = matches(&gate.region, text, strlen(text));
	for (uint32_t i = 0; i < REGION_PROBES_MAX; i++) {
		entry = 0;
		if (atomic_compare_exchange_strong(&gate.region_text[(at + i) % REGION_TEXTS_MAX],
			    &entry, hash | is_match) ||
			(entry & ~1ull) == hash)
			break;
	}
	return is_match;
}

/* torch.profiler.schedule: whether step @step, from 0, is one to record. */
static bool step_is_active(const struct choice_steps *steps, uint64_t step)
{
	uint64_t cycle = (uint64_t)steps->wait + steps->warmup + steps->active;

	if (steps->repeat && step / cycle >= steps->repeat)
		return false;
	return step % cycle >= (uint64_t)steps->wait + steps->warmup;
}

void gate_step(const char *text)
{
	uint64_t step;

	gate_read();
	/* Steps count from the moment when recording could have begun. */
	if (!gate.choice.steps.active || !text ||
		atomic_load_explicit(&gate_word, memory_order_relaxed) &
			(CONTROL_RANK_OUT | CONTROL_DORMANT | CONTROL_TIME))
		return;
	if (!matches(&gate.step_marker, text, strlen(text)))
		return;
	step = atomic_fetch_add(&gate.steps, 1);
	if (step_is_active(&gate.choice.steps, step))
		word_set(CONTROL_STEPS, 0, CONTROL_WHY_STEPS);
	else
		word_set(0, CONTROL_STEPS, CONTROL_WHY_STEPS);
}

static bool step_is_under_way(const struct choice_steps *steps)
{
	uint64_t begun = atomic_load(&gate.steps);

	return begun && step_is_active(steps, begun - 1);
}

/* ---- start ------------------------------------------------------------------------------------
 */

static void timer_set(uint64_t at_ns, bool opens, enum control_why why)
{
	gate.next_ns = at_ns;
	gate.opens_next = opens;
	gate.next_why = why;
}

/* Counts from now, after the timed phase has begun, so that it is never shorter than requested. */
static void timer_after(uint64_t duration_ns, bool opens, enum control_why why)
{
	uint64_t now_ns = clock_boottime_ns();

	if (duration_ns && duration_ns < UINT64_MAX - 1 - now_ns)
		timer_set(now_ns + duration_ns, opens, why);
	else
		timer_set(UINT64_MAX, false, why);
}

bool gate_wants_rank(bool has_rank, uint32_t rank)
{
	const struct choice *c = gate_choice(NULL);

	/* A process with no known rank is not among the selected ranks. */
	return !c->ranks.count || (has_rank && choice_has(&c->ranks, rank));
}

void gate_set_rank(bool has_rank, uint32_t rank)
{
	bool is_out = !gate_wants_rank(has_rank, rank);

	if (is_out == ((atomic_load(&gate_word) & CONTROL_RANK_OUT) != 0))
		return;
	word_set(is_out ? 0 : CONTROL_RANK_OUT, is_out ? CONTROL_RANK_OUT : 0, CONTROL_WHY_START);
	doze_rouse();
}

void gate_begin(bool has_rank, uint32_t rank, uint64_t start_ns)
{
	const struct choice *c = gate_choice(NULL);
	uint64_t set = 0;

	if (c->kernels)
		set |= GATE_BY_KERNEL;
	if (c->region)
		set |= GATE_BY_REGION;
	if (!gate_wants_rank(has_rank, rank))
		set |= CONTROL_RANK_OUT;
	if (c->is_dormant)
		set |= CONTROL_DORMANT;
	if (c->start_after_ns)
		set |= CONTROL_TIME;
	/* The runtime may start in the middle of a step. */
	if (set & (CONTROL_DORMANT | CONTROL_TIME))
		atomic_store(&gate.steps, 0);
	if (c->steps.active && !step_is_under_way(&c->steps))
		set |= CONTROL_STEPS;
	/*
	 * What an earlier instance left in the word belongs to another recorder. The new one starts
	 * with the gate closed by CONTROL_DORMANT, not by CONTROL_RANK_OUT, or ranges opened
	 * meanwhile would be lost. A pause persists, since the program asked for it.
	 */
	gate.taken = (uint32_t)(atomic_fetch_or(&gate_word, CONTROL_DORMANT) >> GATE_CHANGE_LSB);
	gate.taken_ns = 0;
	gate.passed_over = 0;
	word_set((GATE_CLOSED & ~(uint64_t)CONTROL_PROGRAM) | GATE_BY_KERNEL | GATE_BY_REGION, set,
		CONTROL_WHY_START);
	if (c->start_after_ns)
		timer_set(start_ns + c->start_after_ns, true, CONTROL_WHY_TIME);
	else
		timer_after(c->is_dormant ? 0 : c->duration_ns, false, CONTROL_WHY_TIME);
}

const _Atomic uint64_t *gate_of_gpu(uint32_t gpu_id)
{
	return choice_has(&gate_choice(NULL)->gpus, gpu_id) ? &gate_word : &gate_shut;
}

bool gate_is_never_open(void)
{
	return atomic_load_explicit(&gate_word, memory_order_relaxed) & CONTROL_RANK_OUT;
}

/* ---- the shim thread ---------------------------------------------------------------------------
 */

static void apply(bool record, enum control_why why)
{
	uint64_t closed = why == CONTROL_WHY_TIME ? CONTROL_TIME : CONTROL_DORMANT;

	if (!record) {
		word_set(0, closed, why);
		return;
	}
	atomic_store(&gate.steps, 0);
	word_set(CONTROL_DORMANT | CONTROL_TIME, gate.choice.steps.active ? CONTROL_STEPS : 0, why);
}

bool gate_control(uint64_t seq, bool record, uint64_t duration_ns)
{
	if (seq <= gate.control_seq)
		return false;
	gate.control_seq = seq;
	apply(record, CONTROL_WHY_CONTROL);
	if (duration_ns)
		timer_after(duration_ns, !record, CONTROL_WHY_CONTROL);
	else
		timer_after(record ? gate.choice.duration_ns : 0, false, CONTROL_WHY_TIME);
	return true;
}

uint64_t gate_control_seq(void)
{
	return gate.control_seq;
}

uint64_t gate_next_ns(void)
{
	return gate.next_ns;
}

void gate_tick(uint64_t now_ns)
{
	bool opens = gate.opens_next;
	enum control_why why = gate.next_why;

	if (now_ns < gate.next_ns)
		return;
	apply(opens, why);
	/* --duration counts from the end of --start-after. */
	timer_after(opens ? gate.choice.duration_ns : 0, false, CONTROL_WHY_TIME);
}
