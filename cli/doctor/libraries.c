// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/doctor/doctor.h"
#include "cli/run/job/job_environment.h"
#include "cli/collector/places.h"
#include "proto/base/cleanup.h"

#define HSA_NAME    "libhsa-runtime64.so.1"
#define COPIES_MAX  16
#define LOAD_MS_MAX 20000 /* for a library's constructors, and a slow network disk */

/* What a child found out about a library. */
struct loaded {
	bool is_loaded;
	char text[PATH_MAX]; /* its path, or the loader's error message */
};

static void load(const char *library, const char *symbol, struct loaded *ret)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;

	if (!handle || (symbol && !dlsym(handle, symbol)) ||
		dlinfo(handle, RTLD_DI_LINKMAP, &map) < 0) {
		snprintf(ret->text, sizeof(ret->text), "%s", dlerror());
		return;
	}
	ret->is_loaded = true;
	if (!realpath(map->l_name, ret->text))
		snprintf(ret->text, sizeof(ret->text), "%s", map->l_name);
}

static bool read_whole(int fd, struct loaded *ret)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	size_t got = 0;

	while (got < sizeof(*ret)) {
		ssize_t n;

		if (poll(&entry, 1, LOAD_MS_MAX) <= 0)
			return false;
		n = read(fd, (char *)ret + got, sizeof(*ret) - got);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* A library runs code when it is loaded, and a broken one may crash, so this is done in a child. */
static void load_in_child(
	const char *library, const char *symbol, const char *search, struct loaded *ret)
{
	int ends[2];
	pid_t pid;

	*ret = (struct loaded){0};
	if (pipe(ends) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		unsetenv("HSA_TOOLS_LIB");
		/* The loader read LD_LIBRARY_PATH at the start, so only an absolute name works. */
		if (search) {
			char path[PATH_MAX + 64];

			snprintf(path, sizeof(path), "%s/%s", search, library);
			load(path, symbol, ret);
		} else {
			load(library, symbol, ret);
		}
		_exit(write(ends[1], ret, sizeof(*ret)) != (ssize_t)sizeof(*ret));
	}
	close(ends[1]);
	if (pid < 0 || !read_whole(ends[0], ret)) {
		*ret = (struct loaded){.text = "it crashed or hung while being loaded"};
		if (pid > 0)
			kill(pid, SIGKILL);
	}
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void check_shim(struct doctor *doctor)
{
	char path[PATH_MAX], calls[PATH_MAX];
	struct loaded shim;
	int r = places_find(PLACE_SHIM, path);

	if (r < 0) {
		doctor_add(doctor, DOCTOR_FAIL, "shim",
			"install it, or set RTL_LIBDIR to the folder of librtl-shim.so", "%s: %s",
			path, strerror(-r));
		return;
	}
	load_in_child(path, "OnLoad", NULL, &shim);
	if (shim.is_loaded)
		doctor_add(doctor, DOCTOR_OK, "shim", NULL, "%s loads", path);
	else
		doctor_add(doctor, DOCTOR_FAIL, "shim",
			"it must be built for this system's C library or an older one", "%s: %s",
			path, shim.text);
	if (jobenv_is_unpreloadable(path))
		doctor_add(doctor, DOCTOR_WARN, "shim", "install it elsewhere", "%s: %s", path,
			jobenv_without_preload);
	r = jobenv_find_calls(path, NULL, calls);
	if (r < 0)
		doctor_add(doctor, DOCTOR_FAIL, "shim",
			"install it beside librtl-shim.so, or choose another RTL_MODE", "%s: %s",
			calls, strerror(-r));
	doctor_add(doctor, DOCTOR_OK, "glibc", NULL, "%s", gnu_get_libc_version());
}

static void check_softgpu(struct doctor *doctor)
{
	char folder[PATH_MAX];
	struct loaded thunk;
	int r = places_find(PLACE_SOFTGPU, folder);

	if (r < 0) {
		doctor_add(doctor, DOCTOR_FAIL, "softgpu", PLACES_SOFTGPU_TODO, "%s: %s", folder,
			strerror(-r));
		return;
	}
	load_in_child("libhsakmt.so.1", "hsaKmtOpenKFD", folder, &thunk);
	if (thunk.is_loaded)
		doctor_add(doctor, DOCTOR_OK, "softgpu", NULL, "%s (SIMULATED)", thunk.text);
	else
		doctor_add(doctor, DOCTOR_FAIL, "softgpu", "install it again", "%s", thunk.text);
}

/* ---- the HSA runtime ------------------------------------------------------------------- */

static size_t add_copy(char copies[COPIES_MAX][PATH_MAX], size_t count, const char *path)
{
	char real[PATH_MAX];

	if (count == COPIES_MAX || !realpath(path, real))
		return count;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(copies[i], real))
			return count;
	strcpy(copies[count], real);
	return count + 1;
}

static size_t add_pattern(char copies[COPIES_MAX][PATH_MAX], size_t count, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			count = add_copy(copies, count, found.gl_pathv[i]);
	globfree(&found);
	return count;
}

/* Searches all places where a job's loader is likely to look. */
static size_t find_copies(char copies[COPIES_MAX][PATH_MAX])
{
	static const char *const patterns[] = {"/opt/rocm*/lib/" HSA_NAME,
		"/opt/rocm*/lib64/" HSA_NAME, "/usr/lib/*-linux-gnu/" HSA_NAME,
		"/usr/lib64/" HSA_NAME, "/usr/lib/" HSA_NAME, "/usr/local/lib*/" HSA_NAME};
	const char *path = getenv("LD_LIBRARY_PATH");
	size_t count = 0;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		count = add_pattern(copies, count, patterns[i]);
	while (path && *path) {
		size_t length = strcspn(path, ":");
		char file[PATH_MAX];

		if (snprintf(file, sizeof(file), "%.*s/" HSA_NAME, (int)length, path) <
			(int)sizeof(file))
			count = add_copy(copies, count, file);
		path += length + (path[length] == ':');
	}
	return count;
}

static void check_runtime(struct doctor *doctor)
{
	CLEANUP(free_p) char(*copies)[PATH_MAX] = xcalloc(COPIES_MAX, PATH_MAX);
	size_t count = find_copies(copies);
	struct loaded hsa;

	/* The runtime that the program would load, if a program is named. */
	load_in_child(doctor->runtime[0] ? doctor->runtime : HSA_NAME, "hsa_init", NULL, &hsa);
	if (hsa.is_loaded)
		/* The file's name contains the version, so the GPU need not be woken. */
		doctor_add(doctor, DOCTOR_OK, "runtime", NULL, "%s", hsa.text);
	else if (count)
		doctor_add(doctor, DOCTOR_WARN, "runtime",
			"add its folder to LD_LIBRARY_PATH unless the job's programs know it",
			"%s is not in the loader's path: %s", HSA_NAME, copies[0]);
	else
		doctor_add(doctor, DOCTOR_FAIL, "runtime",
			"install ROCm; of a job whose Python wheels bring their own copy: rtl "
			"doctor "
			"-- PROGRAM",
			"%s", hsa.text);
	if (count > 1)
		doctor_add(doctor, DOCTOR_WARN, "runtime",
			"a job should see one: check with rtl info which one it used",
			"%zu copies, among them %s and %s", count, copies[0], copies[1]);
}

void doctor_check_libraries(struct doctor *doctor)
{
	check_shim(doctor);
	if (doctor->is_soft)
		check_softgpu(doctor);
	check_runtime(doctor);
}
