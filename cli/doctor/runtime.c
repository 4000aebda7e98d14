// SPDX-License-Identifier: MIT
/*
 * What the shim would do with the runtime that a job gets: a child brings that runtime up with
 * the shim in it, and the shim tells.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/run/job_environment.h"
#include "cli/collector/places.h"
#include "proto/base/cleanup.h"

#define HSA_NAME     "libhsa-runtime64.so.1"
#define PROBE_MS_MAX 30000 /* hsa_init on a node with many GPUs */
#define ANSWER_BYTES 4096

/* The child. Whatever the runtime prints is not for the user of doctor. */
static _Noreturn void runtime_start(
	const char *runtime, const char *shim, const char *softgpu, int fd)
{
	char thunk[PATH_MAX + 32], text[16];
	int (*init)(void);
	void *library, *symbol;
	char *tool = jobenv_quote_tool(shim);
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	snprintf(text, sizeof(text), "%d", fd);
	setenv("RTL_PROBE", text, 1);
	if (!tool || setenv("HSA_TOOLS_LIB", tool, 1) < 0)
		_exit(1);
	setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1", 1);
	unsetenv("RTL_MODE");
	/* The runtime takes the thunk that is there already, by its name. */
	snprintf(thunk, sizeof(thunk), "%s/libhsakmt.so.1", softgpu ? softgpu : "");
	if (softgpu && !dlopen(thunk, RTLD_NOW | RTLD_GLOBAL))
		_exit(1);
	library = dlopen(runtime, RTLD_NOW);
	symbol = library ? dlsym(library, "hsa_init") : NULL;
	if (!symbol)
		_exit(1);
	memcpy(&init, &symbol, sizeof(init));
	(void)init();
	_exit(0);
}

static size_t read_all(int fd, char *text, size_t capacity)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	size_t got = 0;

	while (got < capacity - 1 && poll(&entry, 1, PROBE_MS_MAX) > 0) {
		ssize_t n = read(fd, text + got, capacity - 1 - got);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	text[got] = '\0';
	return got;
}

static size_t ask(
	const char *runtime, const char *shim, const char *softgpu, char answer[ANSWER_BYTES])
{
	int ends[2];
	size_t bytes = 0;
	pid_t pid;

	answer[0] = '\0';
	if (pipe(ends) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		runtime_start(runtime, shim, softgpu, ends[1]);
	}
	close(ends[1]);
	if (pid > 0) {
		bytes = read_all(ends[0], answer, ANSWER_BYTES);
		/* It has told all it knows, or hangs. */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(ends[0]);
	return bytes;
}

/* The value of @key into @ret, "" when it is not there. */
static const char *value_of(const char *answer, const char *key, char *ret, size_t capacity)
{
	size_t length = strlen(key);
	const char *line = answer;

	ret[0] = '\0';
	while (line && *line) {
		const char *end = strchrnul(line, '\n');

		if (!strncmp(line, key, length) && line[length] == ' ') {
			snprintf(ret, capacity, "%.*s", (int)(end - line - (ssize_t)length - 1),
				line + length + 1);
			return ret;
		}
		line = *end ? end + 1 : end;
	}
	return ret;
}

static bool has(const char *answer, const char *key)
{
	char value[8];

	return !strcmp(value_of(answer, key, value, sizeof(value)), "1");
}

static void add_release(struct doctor *doctor, const char *answer)
{
	char path[PATH_MAX], build[128], table[16], bytes[16], step[16], release[64];

	value_of(answer, "build", build, sizeof(build));
	/* Some builds have it with the quotes of their makefile. */
	build[strcspn(build + (*build == '"'), "\"") + (*build == '"')] = '\0';
	doctor_add(doctor, DOCTOR_OK, "release", NULL, "%s%s%s, tables %s/%s bytes/step %s: %.200s",
		value_of(answer, "release", release, sizeof(release)), *build ? ", build " : "",
		build + (*build == '"'), value_of(answer, "table", table, sizeof(table)),
		value_of(answer, "ext_bytes", bytes, sizeof(bytes)),
		value_of(answer, "ext_step", step, sizeof(step)),
		value_of(answer, "runtime", path, sizeof(path)));
}

static unsigned number_of(const char *answer, const char *key)
{
	char value[16];

	return (unsigned)strtoul(value_of(answer, key, value, sizeof(value)), NULL, 10);
}

static void add_known(struct doctor *doctor, const char *answer)
{
	char build[128];
	struct doctor_runtime runtime = {
		.root_major = number_of(answer, "table"),
		.ext_bytes = number_of(answer, "ext_bytes"),
		.ext_step = number_of(answer, "ext_step"),
		.build = value_of(answer, "build", build, sizeof(build)),
	};

	doctor_check_known(doctor, &runtime);
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

	value_of(answer, "front_end", front_end, sizeof(front_end));
	value_of(answer, "fallback", fallback, sizeof(fallback));
	value_of(answer, "why", why, sizeof(why));
	if (!strcmp(front_end, "none"))
		doctor_add(doctor, DOCTOR_FAIL, "front", "see RTL_FRONT_END in the README",
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
	char shim[PATH_MAX], softgpu[PATH_MAX], answer[ANSWER_BYTES];

	/* Both have said so already. */
	if (places_find(PLACE_SHIM, shim) < 0 ||
		(doctor->is_soft && places_find(PLACE_SOFTGPU, softgpu) < 0))
		return;
	if (!doctor->is_soft && access("/dev/kfd", R_OK | W_OK) < 0)
		return;
	if (!ask(doctor->runtime[0] ? doctor->runtime : HSA_NAME, shim,
		    doctor->is_soft ? softgpu : NULL, answer)) {
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
