// SPDX-License-Identifier: MIT
#include "shim/base/tsc_clock.h"

#include <cpuid.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "proto/base/clock.h"

#define CLOCKSOURCE	  "/sys/devices/system/clocksource/clocksource0/current_clocksource"
/*
 * CPUID leaf for advanced power management; the bit says that the counter has a constant rate and
 * never stops.
 */
#define CPUID_POWER	  0x80000007u
#define CPUID_POWER_TICKS (1u << 8)
/*
 * Clock and counter are read as a pair. A pair that takes at most PAIR_TICKS_GOOD is accepted at
 * once; else the quickest of PAIR_TRIES is, unless it took longer than PAIR_TICKS_MAX.
 */
#define PAIR_TICKS_GOOD	  512u
#define PAIR_TICKS_MAX	  32768u
#define PAIR_TRIES	  4u
/* At least one of this many calls was not interrupted. */
#define CALL_TRIES	  32u
/* 2^40 ticks are minutes at any rate, and the product of that with the slope fits in 64 bits. */
#define BASE_TICKS_MAX	  (1ull << 40)

static _Atomic bool ticks_are_time;

static bool counter_is_steady(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(CPUID_POWER, &a, &b, &c, &d) && d & CPUID_POWER_TICKS;
}

static bool counter_is_allowed(void)
{
	int how = PR_TSC_ENABLE;

	return prctl(PR_GET_TSC, &how) || how == PR_TSC_ENABLE;
}

/*
 * Whether the kernel's clock can be read without a system call: then the library function takes
 * less than half as long as the call. A program without a vDSO cannot tell, and the answer is yes.
 */
static bool clock_needs_no_call(void)
{
	uint64_t clock_ticks = UINT64_MAX, call_ticks = UINT64_MAX;
	struct timespec at;

	if (!counter_is_steady() || !counter_is_allowed())
		return false;
	if (!getauxval(AT_SYSINFO_EHDR))
		return true;
	for (unsigned i = 0; i < CALL_TRIES; i++) {
		uint64_t first = __rdtsc(), second, third;

		(void)clock_boottime_ns();
		second = __rdtsc();
		(void)syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &at);
		third = __rdtsc();
		if (second - first < clock_ticks)
			clock_ticks = second - first;
		if (third - second < call_ticks)
			call_ticks = third - second;
	}
	return clock_ticks < call_ticks / 2;
}

/*
 * These clock sources are the counter along a line that the hypervisor draws. If the hypervisor
 * does not guarantee one line for all processors, the kernel disables reading without a call.
 */
static bool is_from_hypervisor(const char *clocksource)
{
	return !strcmp(clocksource, "kvm-clock\n") ||
	       !strcmp(clocksource, "hyperv_clocksource_tsc_page\n");
}

void ticks_choose(const char *clocksource, bool needs_no_call)
{
	bool is_counter =
		!strcmp(clocksource, "tsc\n") || (is_from_hypervisor(clocksource) && needs_no_call);

	atomic_store_explicit(
		&ticks_are_time, is_counter && counter_is_steady(), memory_order_relaxed);
}

void ticks_look(void)
{
	char name[32] = "";
	int fd = open(CLOCKSOURCE, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t bytes = read(fd, name, sizeof(name) - 1);

		name[bytes > 0 ? bytes : 0] = '\0';
		close(fd);
	}
	ticks_choose(name, is_from_hypervisor(name) && clock_needs_no_call());
}

static void base_begin(struct ticks *t, uint64_t tick, uint64_t ns)
{
	*t = (struct ticks){.base_tick = tick, .base_ns = ns};
}

/* Differs by more than the kernel ever slews its clock: the counter stopped or was set. */
static bool is_slope_different(uint64_t known, uint64_t measured)
{
	uint64_t off = known > measured ? known - measured : measured - known;

	return known && off > known / 8;
}

void ticks_learn(struct ticks *t, uint64_t tick, uint64_t ns)
{
	uint64_t ticks = tick - t->base_tick, past_ns = ns - t->base_ns, slope;

	if (!t->base_ns || past_ns > TICKS_BASE_NS_MAX || !ticks || ticks > BASE_TICKS_MAX) {
		base_begin(t, tick, ns);
		return;
	}
	/* Too close for a slope: the clock itself is read until the distance suffices. */
	if (past_ns < TICKS_BASE_NS_MIN) {
		t->usable = 0;
		return;
	}
	slope = (past_ns << 32) / ticks;
	/* The slope is 0 or more than 256 ns per tick: no such counter exists. */
	if (!slope || slope >> 40 || is_slope_different(t->ns_per_tick, slope)) {
		base_begin(t, tick, ns);
		return;
	}
	t->tick = tick;
	t->ns = ns;
	t->ns_per_tick = slope;
	t->usable = ((uint64_t)TICKS_FOLLOW_NS << 32) / slope;
	if (t->usable > ticks)
		t->usable = ticks;
	if (past_ns > TICKS_BASE_NS_MOVE) {
		t->base_tick = tick;
		t->base_ns = ns;
	}
}

uint64_t ticks_read_ns(struct ticks *t)
{
	uint64_t best = PAIR_TICKS_MAX, tick = 0, at_ns = 0, ns = 0;

	t->usable = 0;
	if (!atomic_load_explicit(&ticks_are_time, memory_order_relaxed))
		return clock_boottime_ns();
	for (unsigned i = 0; i < PAIR_TRIES && best > PAIR_TICKS_GOOD; i++) {
		uint64_t before = __rdtsc(), took;

		ns = clock_boottime_ns();
		took = __rdtsc() - before;
		if (took < best) {
			best = took;
			tick = before + took / 2;
			at_ns = ns;
		}
	}
	if (at_ns)
		ticks_learn(t, tick, at_ns);
	return ns;
}
