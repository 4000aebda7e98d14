// SPDX-License-Identifier: MIT
/*
 * HSA runtimes that are known to fail programs, with us or without: by the size and step of AMD's
 * table, as ROCr says them to tools, and by the root table's major version.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"

#define ANY 0

static const struct known_runtime {
	unsigned root_major, ext_bytes, ext_step; /* ANY: whatever it is */
	const char *build;			  /* part of its build version; NULL: any */
	const char *symptom, *todo, *source;
} known_runtimes[] = {
	{1, ANY, ANY, NULL,
		"a flooded intercept queue aborts the program (rocprofiler's queues, "
		"RTL_FRONT_END=intercept)",
		"leave queues to rtl's shadow front end, and no other tool on them",
		"measured on ROCr 5.2.3, docs/adr/0011"},
	{ANY, 624, 8, NULL,
		"a flooded intercept queue ends the program by SIGABRT or SIGSEGV "
		"(rocprofiler-sdk's "
		"queues, RTL_FRONT_END=intercept)",
		"leave queues to rtl's shadow front end, and no other tool on them; later releases "
		"stage as many packets as the queue has",
		"measured on ROCr 7.2.4; rocm-systems pull request 4066"},
};

static bool is_it(const struct known_runtime *known, const struct doctor_runtime *runtime)
{
	return (known->root_major == ANY || known->root_major == runtime->root_major) &&
	       (known->ext_bytes == ANY || known->ext_bytes == runtime->ext_bytes) &&
	       (known->ext_step == ANY || known->ext_step == runtime->ext_step) &&
	       (!known->build || strstr(runtime->build, known->build));
}

void doctor_check_known(struct doctor *doctor, const struct doctor_runtime *runtime)
{
	for (size_t i = 0; i < sizeof(known_runtimes) / sizeof(*known_runtimes); i++) {
		const struct known_runtime *known = known_runtimes + i;

		if (is_it(known, runtime))
			doctor_add(doctor, DOCTOR_WARN, "known", known->todo,
				"tables %u/%u bytes/step %u: %s (%s)", runtime->root_major,
				runtime->ext_bytes, runtime->ext_step, known->symptom,
				known->source);
	}
}
