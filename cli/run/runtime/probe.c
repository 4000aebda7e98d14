// SPDX-License-Identifier: MIT
/*
 * Finds out what the shim would do with the runtime that a job gets: a child starts that runtime
 * with the shim loaded, and the shim reports.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/runtime/runtime.h"

#define HSA_NAME     "libhsa-runtime64.so.1"
#define PROBE_MS_MAX 30000 /* hsa_init on a node with many GPUs */

/* Runs in the child. Output of the runtime is not meant for the user. */
static _Noreturn void runtime_start(
	const char *runtime, const char *tool, const char *softgpu, int fd)
{
	char thunk[PATH_MAX + 32], text[16];
	int (*init)(void);
	void *library, *symbol;
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	snprintf(text, sizeof(text), "%d", fd);
	setenv("RTL_PROBE", text, 1);
	if (setenv("HSA_TOOLS_LIB", tool, 1) < 0)
		_exit(1);
	setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1", 1);
	unsetenv("RTL_MODE");
	/* The runtime finds by name the thunk that is loaded already. */
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

size_t runtime_probe(const char *runtime, const char *tool, const char *softgpu,
	char answer[RUNTIME_ANSWER_BYTES])
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
		runtime_start(*runtime ? runtime : HSA_NAME, tool, softgpu, ends[1]);
	}
	close(ends[1]);
	if (pid > 0) {
		bytes = read_all(ends[0], answer, RUNTIME_ANSWER_BYTES);
		/* It has reported everything, or it hangs. */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(ends[0]);
	return bytes;
}

const char *runtime_answer(const char *answer, const char *key, char *ret, size_t capacity)
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
