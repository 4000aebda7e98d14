// SPDX-License-Identifier: MIT
/* Preloaded by a test in place of a tracer's roctx: writes ranges to the file in ROCTX_LOG. */
#include <stdio.h>
#include <stdlib.h>

int roctxRangePushA(const char *name);
int roctxRangePop(void);

static void roctx_log(const char *what, const char *name)
{
	const char *path = getenv("ROCTX_LOG");
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (!file)
		return;
	fprintf(file, "%s%s\n", what, name);
	fclose(file);
}

__attribute__((visibility("default"))) int roctxRangePushA(const char *name)
{
	roctx_log("push ", name);
	return 0;
}

__attribute__((visibility("default"))) int roctxRangePop(void)
{
	roctx_log("pop", "");
	return 0;
}
