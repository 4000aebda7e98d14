// SPDX-License-Identifier: MIT
/*
 * HSA runtimes with a known fault that makes programs fail, with the shim or without it. They are
 * recognized by the size and step of AMD's table, as ROCr reports them to tools, and by the major
 * version of the root table.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/run/runtime/runtime.h"

#define ANY 0

static const struct known_runtime known_runtimes[] = {
	{1, ANY, ANY, NULL,
		"a flooded intercept queue aborts the program (rocprofiler's queues, "
		"RTL_FRONT_END=intercept)",
		"leave queues to rtl's shadow front end, and no other tool on them",
		"measured on ROCr 5.2.3, docs/adr/0002"},
	{ANY, 624, 8, NULL,
		"a flooded intercept queue ends the program by SIGABRT or SIGSEGV "
		"(rocprofiler-sdk's "
		"queues, RTL_FRONT_END=intercept)",
		"leave queues to rtl's shadow front end, and no other tool on them; later releases "
		"stage as many packets as the queue has",
		"measured on ROCr 7.2.4; rocm-systems pull request 4066"},
};

static unsigned number_of(const char *answer, const char *key)
{
	char value[16];

	return (unsigned)strtoul(runtime_answer(answer, key, value, sizeof(value)), NULL, 10);
}

const struct known_runtime *runtime_known(const char *answer)
{
	unsigned root_major = number_of(answer, "table");
	unsigned ext_bytes = number_of(answer, "ext_bytes");
	unsigned ext_step = number_of(answer, "ext_step");
	char build[128];

	runtime_answer(answer, "build", build, sizeof(build));
	for (size_t i = 0; i < sizeof(known_runtimes) / sizeof(*known_runtimes); i++) {
		const struct known_runtime *known = known_runtimes + i;

		if ((known->root_major == ANY || known->root_major == root_major) &&
			(known->ext_bytes == ANY || known->ext_bytes == ext_bytes) &&
			(known->ext_step == ANY || known->ext_step == ext_step) &&
			(!known->build || strstr(build, known->build)))
			return known;
	}
	return NULL;
}
