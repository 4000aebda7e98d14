// SPDX-License-Identifier: MIT
/* Shows which ROCm a program would load. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/doctor/doctor.h"
#include "cli/run/runtime/runtime.h"
#include "proto/base/cleanup.h"

static void add_package(struct doctor *doctor, const struct package *package)
{
	char list[DOCTOR_DETAIL_BYTES / 2] = "";

	for (int i = 0; i < LIBRARY_COUNT; i++)
		if (package->file[i][0]) {
			size_t used = strlen(list);

			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				package->file[i]);
		}
	doctor_add(doctor, DOCTOR_OK, "packages", NULL, "%.200s has %s", package->folder, list);
}

static void add_program(struct doctor *doctor, const struct program *program)
{
	if (!program->is_loadable)
		doctor_add(doctor, DOCTOR_WARN, "program",
			"rtl needs a dynamic program whose libraries are all found (ldd)",
			"%.200s is static, or the loader does not find all that it needs",
			program->path);
	else if (program->libraries[0])
		doctor_add(doctor, DOCTOR_OK, "program", NULL, "%.200s loads %s", program->path,
			program->libraries);
	else if (!program->package_count)
		doctor_add(doctor, DOCTOR_OK, "program", NULL,
			"%.200s is linked to no library of ROCm; what it opens itself is not known",
			program->path);
}

void doctor_check_program(struct doctor *doctor)
{
	CLEANUP(free_p) struct program *program = xcalloc(1, sizeof(*program));

	if (!program)
		return;
	if (!program_read(doctor->program, program)) {
		doctor_add(doctor, DOCTOR_FAIL, "program", "name it as rtl run would get it",
			"%.200s: %s", doctor->program, strerror(ENOENT));
		return;
	}
	if (doctor->program)
		add_program(doctor, program);
	for (size_t i = 0; i < program->package_count; i++)
		add_package(doctor, program->package + i);
	doctor->has_sdk = program->has_sdk;
	snprintf(doctor->runtime, sizeof(doctor->runtime), "%s", program->runtime);
}
