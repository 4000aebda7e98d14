/* SPDX-License-Identifier: MIT */
/*
 * A monotonic clock that stands still, a day ahead: a collector that valgrind makes fifty times
 * slower commits by rows then, as it does at speed, and as often however busy the machine is. The
 * kernel's clock never gets there, so that nothing waits for less than it asked for.
 */
#include <dlfcn.h>
#include <time.h>

#define AHEAD_S 86400

int clock_gettime(clockid_t id, struct timespec *ret)
{
	static int (*real)(clockid_t id, struct timespec * ret);
	static struct timespec still;
	int r = 0;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE)
		return real(id, ret);
	/* First called before there are threads. */
	if (!still.tv_sec) {
		r = real(CLOCK_MONOTONIC, &still);
		still.tv_sec += AHEAD_S;
	}
	*ret = still;
	return r;
}
