// SPDX-License-Identifier: MIT
#include "cli/run/runtime/packages.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/* Of two stems with the same beginning, the longer one comes first. */
static const char *const stems[LIBRARY_COUNT] = {
	[LIBRARY_HSA] = "libhsa-runtime64",
	[LIBRARY_HIP] = "libamdhip64",
	[LIBRARY_RCCL] = "librccl",
	[LIBRARY_ROCTX] = "libroctx64",
	[LIBRARY_SDK_ROCTX] = "librocprofiler-sdk-roctx",
	[LIBRARY_SDK] = "librocprofiler-sdk",
	[LIBRARY_REGISTER] = "librocprofiler-register",
};

/*
 * After the stem there must be a version, or a hash as auditwheel makes it ("-1a2b3c4d.so");
 * otherwise it is another library (librccl-net.so, librocprofiler-sdk-rocpd.so).
 */
static bool is_name_of(const char *rest)
{
	if (*rest == '-') {
		size_t digits = strspn(rest + 1, "0123456789abcdef");

		rest += digits >= 8 ? 1 + digits : 0;
	}
	return !strncmp(rest, ".so", 3) && (!rest[3] || rest[3] == '.');
}

enum package_library package_library_of(const char *file)
{
	for (int i = 0; i < LIBRARY_COUNT; i++)
		if (!strncmp(file, stems[i], strlen(stems[i])) &&
			is_name_of(file + strlen(stems[i])))
			return i;
	return LIBRARY_COUNT;
}

struct finding {
	struct package *at;
	size_t count;
};

static void add_folder(struct finding *f, const char *folder)
{
	struct package *package = f->at + f->count;
	DIR *entries = f->count < PACKAGES_MAX ? opendir(folder) : NULL;
	const struct dirent *entry;
	bool has_any = false;

	if (!entries)
		return;
	*package = (struct package){0};
	while ((entry = readdir(entries))) {
		enum package_library library = package_library_of(entry->d_name);

		if (library == LIBRARY_COUNT)
			continue;
		has_any = true;
		snprintf(package->file[library], sizeof(package->file[library]), "%s",
			entry->d_name);
	}
	closedir(entries);
	if (!has_any || !realpath(folder, package->folder))
		return;
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->at[i].folder, package->folder))
			return;
	f->count++;
}

/* @site is a pattern for folders that Python imports from. */
static void add_site(struct finding *f, const char *site)
{
	static const char *const places[] = {
		"torch/lib", "torch.libs", "_rocm_sdk_core/lib", "_rocm_sdk_libraries*/lib"};
	char pattern[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		glob_t found;

		if (snprintf(pattern, sizeof(pattern), "%s/%s", site, places[i]) >=
			(int)sizeof(pattern))
			continue;
		if (glob(pattern, 0, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc; k++)
				add_folder(f, found.gl_pathv[k]);
		globfree(&found);
	}
}

static void add_prefix(struct finding *f, const char *prefix)
{
	static const char *const sites[] = {"lib/python3*/site-packages",
		"lib/python3*/dist-packages", "lib/python3/dist-packages"};
	char site[PATH_MAX];

	for (size_t i = 0; prefix && *prefix && i < sizeof(sites) / sizeof(*sites); i++)
		if (snprintf(site, sizeof(site), "%s/%s", prefix, sites[i]) < (int)sizeof(site))
			add_site(f, site);
}

static void add_list(struct finding *f, const char *list)
{
	while (list && *list) {
		size_t length = strcspn(list, ":");
		char site[PATH_MAX];

		if (length &&
			snprintf(site, sizeof(site), "%.*s", (int)length, list) < (int)sizeof(site))
			add_site(f, site);
		list += length + (list[length] == ':');
	}
}

/* bin/python of a virtual environment is a link, and the packages are beside the link. */
static void add_python(struct finding *f, const char *python)
{
	char prefix[PATH_MAX];

	snprintf(prefix, sizeof(prefix), "%s", python);
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(prefix, '/');

		if (!slash)
			return;
		*slash = '\0';
	}
	add_prefix(f, *prefix ? prefix : "/");
}

bool packages_find_program(const char *name, char ret[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s", name);
		return access(ret, X_OK) == 0;
	}
	while (path && *path) {
		size_t length = strcspn(path, ":");

		snprintf(ret, PATH_MAX, "%.*s/%s", (int)length, path, name);
		if (length && access(ret, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

size_t packages_find(const char *python, struct package ret[PACKAGES_MAX])
{
	struct finding f = {.at = ret};
	const char *home = getenv("HOME");
	char first[PATH_MAX], user[PATH_MAX];

	add_list(&f, getenv("PYTHONPATH"));
	if (!python) {
		add_prefix(&f, getenv("VIRTUAL_ENV"));
		add_prefix(&f, getenv("CONDA_PREFIX"));
		python = packages_find_program("python3", first) ? first : NULL;
	}
	if (python)
		add_python(&f, python);
	if (home && *home && snprintf(user, sizeof(user), "%s/.local", home) < (int)sizeof(user))
		add_prefix(&f, user);
	return f.count;
}
