/* SPDX-License-Identifier: MIT
 *
 * A program that is linked to roctx. With the shim preloaded the real library still gets every
 * call, and its results come back; without, this is what it is compared with.
 */
#include <stdint.h>
#include <stdio.h>

int roctx_calls(void);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
void roctxMarkA(const char *message);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);

int main(void)
{
	int push = roctxRangePushA("m1");
	int pop = roctxRangePop();
	uint64_t id = roctxRangeStartA("m2");

	roctxMarkA("m3");
	roctxRangeStop(id);
	printf("%d %d %llu %d\n", push, pop, (unsigned long long)id, roctx_calls());
	return 0;
}
