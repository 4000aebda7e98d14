// SPDX-License-Identifier: MIT
/*
 * Which ROCm a program would load: its own libraries, as the loader finds them without running it,
 * or those of the packages of a Python.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "proto/base/cleanup.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

/* The first line of a script, "" where it is none. */
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

/* The loader lists what it would load; 126 and more: it could not. */
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
static void note_library(struct doctor *doctor, const char *line, char *list, size_t capacity)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	enum package_library library;
	size_t used = strlen(list);

	if (sscanf(line, " %255s => %4095s", name, path) != 2 || path[0] != '/')
		return;
	library = package_library_of(name);
	if (library == LIBRARY_COUNT)
		return;
	if (library == LIBRARY_HSA)
		snprintf(doctor->runtime, sizeof(doctor->runtime), "%s", path);
	doctor->has_sdk |= library == LIBRARY_SDK;
	snprintf(list + used, capacity - used, "%s%.120s", used ? ", " : "", path);
}

static bool check_linked(struct doctor *doctor, const char *path)
{
	char *line = NULL, list[DOCTOR_DETAIL_BYTES / 2] = "";
	size_t capacity = 0;
	int status = 0;
	pid_t pid;
	FILE *output = list_libraries(path, &pid);

	if (!output)
		return false;
	while (getline(&line, &capacity, output) > 0)
		note_library(doctor, line, list, sizeof(list));
	free(line);
	fclose(output);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		doctor_add(doctor, DOCTOR_WARN, "program",
			"rtl needs a dynamic program whose libraries are all found (ldd)",
			"%.200s is static, or the loader does not find all that it needs", path);
	else if (*list)
		doctor_add(doctor, DOCTOR_OK, "program", NULL, "%.200s loads %s", path, list);
	else
		return false;
	return true;
}

static void add_package(struct doctor *doctor, const struct package *package)
{
	char list[DOCTOR_DETAIL_BYTES / 2] = "";

	for (int i = 0; i < LIBRARY_COUNT; i++)
		if (package->file[i][0]) {
			size_t used = strlen(list);

			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				package->file[i]);
		}
	doctor->has_sdk |= package->file[LIBRARY_SDK][0] != '\0';
	doctor_add(doctor, DOCTOR_OK, "packages", NULL, "%.200s has %s", package->folder, list);
}

void doctor_check_program(struct doctor *doctor)
{
	CLEANUP(free_p) struct package *packages = calloc(PACKAGES_MAX, sizeof(*packages));
	char path[PATH_MAX] = "", interpreter[PATH_MAX] = "";
	const char *python;
	bool has_linked = false;
	size_t count;

	if (doctor->program && !packages_find_program(doctor->program, path)) {
		doctor_add(doctor, DOCTOR_FAIL, "program", "name it as rtl run would get it",
			"%.200s: %s", doctor->program, strerror(ENOENT));
		return;
	}
	if (*path)
		read_interpreter(path, interpreter);
	/* pyenv's python3 is a script, and has its packages where a python3 would. */
	python = is_python(path) ? path : is_python(interpreter) ? interpreter : NULL;
	if (*path)
		has_linked = check_linked(doctor, *interpreter ? interpreter : path);
	count = packages && (python || !*path) ? packages_find(python, packages) : 0;
	for (size_t i = 0; i < count; i++) {
		add_package(doctor, packages + i);
		/* What torch opens is in its own folders, before the system's. */
		if (doctor->program && !doctor->runtime[0] && packages[i].file[LIBRARY_HSA][0])
			snprintf(doctor->runtime, sizeof(doctor->runtime), "%.3800s/%.255s",
				packages[i].folder, packages[i].file[LIBRARY_HSA]);
	}
	if (*path && !has_linked && !count)
		doctor_add(doctor, DOCTOR_OK, "program", NULL,
			"%.200s is linked to no library of ROCm; what it opens itself is not known",
			path);
}
