/* SPDX-License-Identifier: MIT
 *
 * A stand-in for the real roctx library: counts its calls and returns values that only it returns.
 */
#include <stdint.h>

int roctx_calls(void);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
void roctxMarkA(const char *message);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);

static _Atomic int calls;

__attribute__((visibility("default"))) int roctx_calls(void)
{
	return calls;
}

__attribute__((visibility("default"))) int roctxRangePushA(const char *message)
{
	calls += message[0] == 'm';
	return 41;
}

__attribute__((visibility("default"))) int roctxRangePop(void)
{
	calls++;
	return 42;
}

__attribute__((visibility("default"))) void roctxMarkA(const char *message)
{
	calls += message[0] == 'm';
}

__attribute__((visibility("default"))) uint64_t roctxRangeStartA(const char *message)
{
	calls += message[0] == 'm';
	return 4300000000ull;
}

__attribute__((visibility("default"))) void roctxRangeStop(uint64_t id)
{
	calls += id == 4300000000ull;
}
