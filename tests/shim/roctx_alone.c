/* SPDX-License-Identifier: MIT
 *
 * shim-roctx-alone: calls roctx where there is no roctx library but the preloaded shim, as a signal
 * handler may that interrupts malloc(). After its first call none may ask for memory.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALLS 1000

void roctxMarkA(const char *message) __attribute__((weak));
int roctxRangePushA(const char *message) __attribute__((weak));
int roctxRangePop(void) __attribute__((weak));
uint64_t roctxRangeStartA(const char *message) __attribute__((weak));
void roctxRangeStop(uint64_t id) __attribute__((weak));
void *__libc_malloc(size_t bytes);

static bool is_locked;

/* Also called by the loader and libc. */
__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
	if (is_locked) {
		static const char text[] = "malloc() would have waited for ever\n";
		ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

		(void)written;
		_exit(1);
	}
	return __libc_malloc(bytes);
}

int main(void)
{
	if (!roctxMarkA || !roctxRangePushA || !roctxRangePop || !roctxRangeStartA ||
		!roctxRangeStop)
		return 2;
	roctxMarkA("first");
	is_locked = true;
	for (int i = 0; i < CALLS; i++) {
		uint64_t id = roctxRangeStartA("in the handler");

		roctxRangePushA("in the handler");
		roctxMarkA("in the handler");
		roctxRangePop();
		roctxRangeStop(id);
	}
	is_locked = false;
	puts("never");
	return 0;
}
