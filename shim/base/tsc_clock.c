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
/* Advanced power management: the counter's rate never changes, and it never stops. */
#define CPUID_POWER	  0x80000007u
#define CPUID_POWER_TICKS (1u << 8)
/* A reading of both within so many ticks is as good as any; of a few that were interrupted, the
 * quickest; none is used that took more. */
#define PAIR_TICKS_GOOD	  512u
#define PAIR_TICKS_MAX	  32768u
#define PAIR_TRIES	  4u
/* The quickest of so many was not interrupted. */
#define CALL_TRIES	  32u
/* 2^40 are minutes at any rate, and the product of a line's length with its slope fits. */
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
 * Whether the kernel's clock is read without a call into it: then in less than half of what the same
 * takes by one. A program without the kernel's page of functions can't tell, and is not told otherwise.
 */
static bool clock_is_at_hand(void)
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
 * These are the counter along a line that the hypervisor draws. Where it does not vouch that the
 * line is the same for all processors, the kernel lets nobody read the clock without a call.
 */
static bool is_hypervisors(const char *clocksource)
{
	return !strcmp(clocksource, "kvm-clock\n") ||
	       !strcmp(clocksource, "hyperv_clocksource_tsc_page\n");
}

void ticks_choose(const char *clocksource, bool is_at_hand)
{
	bool is_counter =
		!strcmp(clocksource, "tsc\n") || (is_hypervisors(clocksource) && is_at_hand);

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
	ticks_choose(name, is_hypervisors(name) && clock_is_at_hand());
}

static void base_begin(struct ticks *t, uint64_t tick, uint64_t ns)
{
	*t = (struct ticks){.base_tick = tick, .base_ns = ns};
}

/* By more than the kernel ever bends its clock: the counter stood still, or was set. */
static bool is_other_slope(uint64_t known, uint64_t measured)
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
	/* Too near to say how fast it goes: the clock itself, until it can be said. */
	if (past_ns < TICKS_BASE_NS_MIN) {
		t->usable = 0;
		return;
	}
	slope = (past_ns << 32) / ticks;
	/* Less than a tick a nanosecond, or more than there can be. */
	if (!slope || slope >> 40 || is_other_slope(t->ns_per_tick, slope)) {
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
