// SPDX-License-Identifier: MIT
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_add(struct doctor *doctor, enum doctor_level level, const char *what, const char *todo,
	const char *format, ...)
{
	struct doctor_finding *finding;
	va_list args;

	/* No check adds many; the last place is overwritten by whatever comes last. */
	if (doctor->count == DOCTOR_FINDINGS_MAX)
		doctor->count--;
	finding = &doctor->findings[doctor->count++];
	*finding = (struct doctor_finding){.level = level, .what = what, .todo = todo};
	va_start(args, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, args);
	va_end(args);
}
