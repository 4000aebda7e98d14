// SPDX-License-Identifier: MIT
/* Shows what the shim would do with the runtime that a job gets. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/run/job/job_environment.h"
#include "cli/run/runtime/runtime.h"
#include "cli/collector/places.h"
#include "proto/base/cleanup.h"

static bool has(const char *answer, const char *key)
{
	char value[8];

	return !strcmp(runtime_answer(answer, key, value, sizeof(value)), "1");
}

static void add_release(struct doctor *doctor, const char *answer)
{
	char path[PATH_MAX], build[128], table[16], bytes[16], step[16], release[64];

	runtime_answer(answer, "build", build, sizeof(build));
	/* In some builds it has the quotes of the makefile. */
	build[strcspn(build + (*build == '"'), "\"") + (*build == '"')] = '\0';
	doctor_add(doctor, DOCTOR_OK, "release", NULL, "%s%s%s, tables %s/%s bytes/step %s: %.200s",
		runtime_answer(answer, "release", release, sizeof(release)),
		*build ? ", build " : "", build + (*build == '"'),
		runtime_answer(answer, "table", table, sizeof(table)),
		runtime_answer(answer, "ext_bytes", bytes, sizeof(bytes)),
		runtime_answer(answer, "ext_step", step, sizeof(step)),
		runtime_answer(answer, "runtime", path, sizeof(path)));
}

static void add_known(struct doctor *doctor, const char *answer)
{
	const struct known_runtime *known = runtime_known(answer);
	char table[16], bytes[16], step[16];

	if (known)
		doctor_add(doctor, DOCTOR_WARN, "known", known->todo,
			"tables %s/%s bytes/step %s: %s (%s)",
			runtime_answer(answer, "table", table, sizeof(table)),
			runtime_answer(answer, "ext_bytes", bytes, sizeof(bytes)),
			runtime_answer(answer, "ext_step", step, sizeof(step)), known->symptom,
			known->source);
}

static void add_queues(struct doctor *doctor, const char *answer)
{
	doctor_add(doctor, DOCTOR_OK, "queues", NULL, "queue_create%s%s; packets: AQL dispatches%s",
		has(answer, "hsa_amd_queue_intercept_create") ? ", intercept_create" : "",
		has(answer, "hsa_amd_queue_get_info") ? ", queue_get_info" : "",
		has(answer, "extended_dispatch") ? " and extended ones" : "");
}

static void add_front_end(struct doctor *doctor, const char *answer)
{
	char front_end[32], fallback[32], why[256];

	runtime_answer(answer, "front_end", front_end, sizeof(front_end));
	runtime_answer(answer, "fallback", fallback, sizeof(fallback));
	runtime_answer(answer, "why", why, sizeof(why));
	if (!strcmp(front_end, "none"))
		doctor_add(doctor, DOCTOR_FAIL, "front", "see RTL_FRONT_END in docs/commands.md",
			"no queue would be followed: %s", why);
	else if (!strcmp(fallback, "none"))
		doctor_add(
			doctor, DOCTOR_OK, "front", NULL, "queues are followed by %s", front_end);
	else
		doctor_add(doctor, DOCTOR_OK, "front", NULL,
			"queues are followed by %s, where that is impossible by %s", front_end,
			fallback);
}

void doctor_check_runtime(struct doctor *doctor)
{
	char shim[PATH_MAX], softgpu[PATH_MAX], answer[RUNTIME_ANSWER_BYTES];
	CLEANUP(free_p) char *tool = NULL;

	/* Both errors were reported already. */
	if (places_find(PLACE_SHIM, shim) < 0 ||
		(doctor->is_soft && places_find(PLACE_SOFTGPU, softgpu) < 0))
		return;
	if (!doctor->is_soft && access("/dev/kfd", R_OK | W_OK) < 0)
		return;
	tool = jobenv_quote_tool(shim);
	if (!tool ||
		!runtime_probe(doctor->runtime, tool, doctor->is_soft ? softgpu : NULL, answer)) {
		doctor_add(doctor, DOCTOR_WARN, "front",
			"try RTL_DEBUG=1 with a program that uses the GPU",
			"the runtime did not come up with the shim in it");
		return;
	}
	add_release(doctor, answer);
	add_known(doctor, answer);
	add_queues(doctor, answer);
	add_front_end(doctor, answer);
}
