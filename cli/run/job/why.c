// SPDX-License-Identifier: MIT
#include "cli/run/job/why.h"

#include <stdarg.h>
#include <stdio.h>

void run_why(char why[RUN_WHY_BYTES], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, RUN_WHY_BYTES, format, args);
	va_end(args);
}
