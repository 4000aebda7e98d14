// SPDX-License-Identifier: MIT
/* Other tools that are configured in addition to the shim, and the owner of a job's queues. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/collector/places.h"
#include "cli/doctor/doctor.h"
#include "cli/run/job/job_environment.h"
#include "proto/base/cleanup.h"

/* ---- rings ----------------------------------------------------------------------------- */

/*
 * ROCr requires a 1; releases of CLR that know the variable accept anything but 0. rtl run moves
 * rings, unless RTL_RINGS forbids it.
 */
static void check_rings(struct doctor *doctor)
{
	static const char *const how =
		"start the job by rtl run, which puts them into host memory, "
		"and do not set RTL_RINGS=keep";
	const char *hsa = getenv("HSA_ALLOCATE_QUEUE_DEV_MEM"),
		   *clr = getenv("DEBUG_CLR_AQL_DEV_QUEUE");

	if (hsa && !strcmp(hsa, "1"))
		doctor_add(doctor, DOCTOR_WARN, "rings", how,
			"HSA_ALLOCATE_QUEUE_DEV_MEM=1 asks for rings of queues in the GPU's "
			"memory, where they cannot be followed");
	if (clr && strcmp(clr, "0") != 0)
		doctor_add(doctor, DOCTOR_WARN, "rings", how,
			"DEBUG_CLR_AQL_DEV_QUEUE=%s lets HIP ask for rings of queues in the GPU's "
			"memory, where they cannot be followed",
			clr);
}

/* ---- owner ----------------------------------------------------------------------------- */

/* In a child, because a library runs code when it is loaded. */
static bool is_sdk_tool(const char *path)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

		_exit(library && dlsym(library, "rocprofiler_configure") ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/*
 * Finds the first library in LD_PRELOAD that rocprofiler-sdk would take for a tool; "" if there is
 * none.
 */
static void find_preloaded_tool(char ret[PATH_MAX])
{
	const char *list = getenv("LD_PRELOAD");

	ret[0] = '\0';
	while (list && *list) {
		size_t length = strcspn(list, " :");

		snprintf(ret, PATH_MAX, "%.*s", (int)length, list);
		if (length && !strstr(ret, "/librtl-") && is_sdk_tool(ret))
			return;
		list += length + (list[length] != '\0');
	}
	ret[0] = '\0';
}

static const char *set(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Tells which tool other than the shim makes or wraps queues, and by which variable. */
static void check_owner(struct doctor *doctor)
{
	static const char *const variables[] = {"ROCP_TOOL_LIBRARIES",
		"ROCPROFILER_REGISTER_LIBRARY", "ROCPROFILER_QUEUE_INTERPOSITION"};
	static const char todo[] =
		"start the job by rtl run: its shim is preloaded, and comes before it";
	char tool[PATH_MAX];
	size_t before = doctor->count;

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (set(variables[i]))
			doctor_add(doctor, DOCTOR_WARN, "owner", todo,
				"rocprofiler-sdk makes or wraps queues, too: %s=%.300s",
				variables[i], set(variables[i]));
	find_preloaded_tool(tool);
	if (*tool)
		doctor_add(doctor, DOCTOR_WARN, "owner", todo,
			"rocprofiler-sdk makes or wraps queues, too: %.300s in LD_PRELOAD has "
			"rocprofiler_configure",
			tool);
	if (doctor->has_sdk)
		doctor_add(doctor, DOCTOR_WARN, "owner", todo,
			"rocprofiler-sdk makes or wraps queues, too: it lies beside the program's "
			"ROCm, whose "
			"profiler (torch's) registers as soon as it is imported");
	if (doctor->count == before)
		doctor_add(doctor, DOCTOR_OK, "owner", NULL, "queues are the shim's alone%s",
			set("HSA_TOOLS_LIB") ? ", and of HSA_TOOLS_LIB" : "");
}

/* ---- variables ------------------------------------------------------------------------- */

/* Variables that users and packages set for rocprofiler-sdk, and their effect on the shim. */
static void check_sdk_variables(struct doctor *doctor)
{
	static const char register_prefix[] = "ROCPROFILER_REGISTER_";
	const char *v1_tools = getenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS");

	if (v1_tools && !strcmp(v1_tools, "0"))
		doctor_add(doctor, DOCTOR_WARN, "tools", "unset it",
			"HSA_TOOLS_ROCPROFILER_V1_TOOLS=0: beside a rocprofiler-sdk tool (torch, "
			"JAX) nothing is recorded");
	for (char **at = environ; *at; at++)
		if (!strncmp(*at, register_prefix, strlen(register_prefix)))
			doctor_add(doctor, DOCTOR_WARN, "tools",
				"it changes which tools the runtime loads; unset it if kernels are "
				"missing",
				"%s", *at);
}

void doctor_check_tools(struct doctor *doctor)
{
	static const char *const sdk[] = {"ROCP_TOOL_LIBRARIES"};
	const char *tools = getenv("HSA_TOOLS_LIB");
	const char *mode = getenv("RTL_MODE");
	char shim[PATH_MAX];
	bool has_shim = places_find(PLACE_SHIM, shim) == 0, is_alone = true;
	CLEANUP(free_p) char *ours = has_shim ? jobenv_quote_tool(shim) : NULL;

	if (tools && *tools && (!ours || strcmp(tools, ours))) {
		is_alone = has_shim && jobenv_tools_list_has(tools, shim);
		doctor_add(doctor, DOCTOR_WARN, "tools",
			"unset HSA_TOOLS_LIB: two tools that time kernels disturb each other",
			"HSA_TOOLS_LIB=%s%s", tools, is_alone ? " (ours is in it)" : "");
	}
	for (size_t i = 0; i < sizeof(sdk) / sizeof(sdk[0]); i++) {
		const char *value = getenv(sdk[i]);

		if (!value || !*value)
			continue;
		is_alone = false;
		doctor_add(doctor, DOCTOR_WARN, "tools",
			"unset it: a rocprofiler-sdk tool in the process can take our times",
			"%s=%s", sdk[i], value);
	}
	check_sdk_variables(doctor);
	check_rings(doctor);
	check_owner(doctor);
	if (mode && !strcmp(mode, "off"))
		doctor_add(
			doctor, DOCTOR_FAIL, "tools", "unset it", "RTL_MODE=off records nothing");
	else if (is_alone && !(tools && *tools))
		doctor_add(doctor, DOCTOR_OK, "tools", NULL, "no other profiler is set up");
}
