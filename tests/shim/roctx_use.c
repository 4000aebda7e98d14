/* SPDX-License-Identifier: MIT
 *
 * Code linked to roctx: a part of shim-roctx, and the library that shim-roctx-late loads into a
 * scope of its own, as Python loads torch.
 */
#include <stdint.h>
#include <stdio.h>

void roctx_use(void);
int roctx_calls(void);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
void roctxMarkA(const char *message);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);

__attribute__((visibility("default"))) void roctx_use(void)
{
	int push = roctxRangePushA("m1");
	int pop = roctxRangePop();
	uint64_t id = roctxRangeStartA("m2");

	roctxMarkA("m3");
	roctxRangeStop(id);
	printf("%d %d %llu %d\n", push, pop, (unsigned long long)id, roctx_calls());
}
