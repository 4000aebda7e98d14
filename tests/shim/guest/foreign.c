/* SPDX-License-Identifier: MIT
 * A program that is none of ours to follow: of another C library, or of none (FREESTANDING, 32 bits). Says
 * hello and exits with 7. */
#ifdef FREESTANDING
static long call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

void _start(void);

void _start(void)
{
	call(4, 1, (long)"hello\n", 6); /* write */
	for (;;)
		call(1, 7, 0, 0); /* exit */
}
#else
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 7;
}
#endif
