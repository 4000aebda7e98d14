// SPDX-License-Identifier: MIT
/*
 * Finds the ROCm that a program would load: its own libraries, as the loader finds them without
 * running the program, or those of the packages of a Python.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/runtime/runtime.h"
#include "proto/base/cleanup.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

/* Reads the interpreter in the first line of a script, "" if there is none. */
static void read_interpreter(const char *path, char ret[PATH_MAX])
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char line[256], *word, *rest;
	ssize_t bytes = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	ret[0] = '\0';
	if (bytes < 2 || strncmp(line, "#!", 2))
		return;
	line[bytes] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	/* "#!/usr/bin/env python3". */
	if (word && strlen(word) > 4 && !strcmp(word + strlen(word) - 4, "/env"))
		word = strtok_r(NULL, " \t", &rest);
	if (!word || !packages_find_program(word, ret))
		ret[0] = '\0';
}

static bool is_python(const char *path)
{
	const char *name = strrchr(path, '/');

	return !strncmp(name ? name + 1 : path, "python", 6);
}

/* Makes the loader list the libraries; status 126 and above means that it could not. */
static FILE *list_libraries(const char *path, pid_t *ret)
{
	int ends[2], null;

	if (pipe(ends) < 0)
		return NULL;
	*ret = fork();
	if (*ret == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(ends[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(ends[0]);
		unsetenv("LD_PRELOAD");
		execl(LOADER, LOADER, "--list", path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (*ret < 0) {
		close(ends[0]);
		return NULL;
	}
	return fdopen(ends[0], "r");
}

/* "<tab>libamdhip64.so.6 => /opt/rocm/lib/libamdhip64.so.6 (0x...)" */
static void note_library(struct program *program, const char *line)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	enum package_library library;
	size_t used = strlen(program->libraries);

	if (sscanf(line, " %255s => %4095s", name, path) != 2 || path[0] != '/')
		return;
	library = package_library_of(name);
	if (library == LIBRARY_COUNT)
		return;
	if (library == LIBRARY_HSA)
		snprintf(program->runtime, sizeof(program->runtime), "%s", path);
	program->has_sdk |= library == LIBRARY_SDK;
	snprintf(program->libraries + used, sizeof(program->libraries) - used, "%s%.120s",
		used ? ", " : "", path);
}

static void read_linked(struct program *program, const char *path)
{
	char *line = NULL;
	size_t capacity = 0;
	int status = 0;
	pid_t pid;
	FILE *output = list_libraries(path, &pid);

	if (!output)
		return;
	while (getline(&line, &capacity, output) > 0)
		note_library(program, line);
	free(line);
	fclose(output);
	program->is_loadable =
		waitpid(pid, &status, 0) >= 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

bool program_read(const char *name, struct program *ret)
{
	char interpreter[PATH_MAX] = "";
	const char *python;

	memset(ret, 0, sizeof(*ret));
	ret->is_loadable = true;
	if (name && !packages_find_program(name, ret->path))
		return false;
	if (name)
		read_interpreter(ret->path, interpreter);
	/* pyenv's python3 is a script and has its packages where a python3 has them. */
	python = is_python(ret->path) ? ret->path : is_python(interpreter) ? interpreter : NULL;
	if (name)
		read_linked(ret, *interpreter ? interpreter : ret->path);
	if (python || !name)
		ret->package_count = packages_find(python, ret->package);
	for (size_t i = 0; i < ret->package_count; i++) {
		const struct package *package = ret->package + i;

		ret->has_sdk |= package->file[LIBRARY_SDK][0] != '\0';
		/* torch opens libraries in its own folders before those of the system. */
		if (name && !ret->runtime[0] && package->file[LIBRARY_HSA][0])
			snprintf(ret->runtime, sizeof(ret->runtime), "%.3800s/%.255s",
				package->folder, package->file[LIBRARY_HSA]);
	}
	return true;
}
