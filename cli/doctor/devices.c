// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/collector/places.h"
#include "proto/base/cleanup.h"

#define KFD	 "/dev/kfd"
#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

static const char *group_name(gid_t gid)
{
	const struct group *group = getgrgid(gid);

	return group ? group->gr_name : "?";
}

/* Opens the device, because containers deny devices in ways that permissions do not show. */
static int try_device(const char *path)
{
	CLEANUP(close_p) int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

static void check_kfd(struct doctor *doctor)
{
	char softgpu[PATH_MAX];
	bool has_soft = places_find(PLACE_SOFTGPU, softgpu) == 0;
	int r = try_device(KFD);
	struct stat st;

	if (r == 0)
		doctor_add(doctor, DOCTOR_OK, "kfd", NULL, KFD " opens");
	else if (r == -ENOENT)
		doctor_add(doctor, DOCTOR_FAIL, "kfd",
			has_soft ? "load amdgpu, or pass the device into the container; to try rtl "
				   "without a GPU: --device soft"
				 : "load amdgpu, or pass the device into the container",
			KFD ": not there: no AMD GPU driver");
	else if (r == -EACCES && stat(KFD, &st) == 0)
		doctor_add(doctor, DOCTOR_FAIL, "kfd", "have yourself added to its group",
			KFD ": permission denied; it belongs to group %s", group_name(st.st_gid));
	else
		doctor_add(doctor, DOCTOR_FAIL, "kfd",
			r == -EPERM ? "the container does not allow it: pass the device in" : NULL,
			KFD ": %s", strerror(-r));
}

static void check_render_nodes(struct doctor *doctor)
{
	size_t usable = 0, total = 0;
	const char *denied = NULL;
	glob_t found;
	int r = 0;

	if (glob("/dev/dri/renderD*", 0, NULL, &found) == 0)
		total = found.gl_pathc;
	for (size_t i = 0; i < total; i++) {
		int one = try_device(found.gl_pathv[i]);

		usable += one == 0;
		if (one < 0 && !denied) {
			denied = found.gl_pathv[i];
			r = one;
		}
	}
	if (!total)
		doctor_add(doctor, DOCTOR_WARN, "dri", "pass /dev/dri into the container",
			"/dev/dri: no render node");
	else if (denied)
		doctor_add(doctor, usable ? DOCTOR_WARN : DOCTOR_FAIL, "dri",
			"have yourself added to group render (older systems: video)",
			"%zu of %zu render nodes open; %s: %s", usable, total, denied,
			strerror(-r));
	else
		doctor_add(doctor, DOCTOR_OK, "dri", NULL, "%zu render nodes open", total);
	globfree(&found);
}

static bool is_in_group(const char *name)
{
	const struct group *group = getgrnam(name);
	gid_t gid, groups[256];
	int count;

	if (!group)
		return false;
	gid = group->gr_gid;
	count = getgroups((int)(sizeof(groups) / sizeof(groups[0])), groups);
	for (int i = 0; i < count; i++)
		if (groups[i] == gid)
			return true;
	return getegid() == gid;
}

static void check_groups(struct doctor *doctor)
{
	bool is_render = is_in_group("render"), is_video = is_in_group("video");

	if (geteuid() == 0)
		doctor_add(doctor, DOCTOR_OK, "groups", NULL, "root needs none");
	else if (is_render || is_video)
		doctor_add(doctor, DOCTOR_OK, "groups", NULL, "in %s%s%s",
			is_render ? "render" : "", is_render && is_video ? ", " : "",
			is_video ? "video" : "");
	else
		doctor_add(doctor, DOCTOR_WARN, "groups",
			"usermod -aG render,video; then log in again",
			"neither in render nor in video");
}

/* Reads values of a node's properties file; 0 if it does not contain them. */
static void read_node(const char *name, unsigned long *simds, unsigned long *version)
{
	char path[PATH_MAX], key[64];
	unsigned long value;
	FILE *file;

	*simds = *version = 0;
	snprintf(path, sizeof(path), TOPOLOGY "/%s/properties", name);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fscanf(file, "%63s %lu", key, &value) == 2) {
		if (!strcmp(key, "simd_count"))
			*simds = value;
		if (!strcmp(key, "gfx_target_version"))
			*version = value;
	}
	(void)fclose(file); /* it was only read */
}

static void check_topology(struct doctor *doctor)
{
	char names[256] = "";
	size_t gpus = 0, at = 0;
	struct dirent *entry;
	DIR *folder = opendir(TOPOLOGY);

	while (folder && (entry = readdir(folder))) {
		unsigned long simds, version;

		if (entry->d_name[0] == '.')
			continue;
		read_node(entry->d_name, &simds, &version);
		if (!simds)
			continue;
		gpus++;
		/* 90010 is gfx90a; the last two are one hexadecimal digit each. */
		if (at < sizeof(names) - 16)
			at += (size_t)snprintf(names + at, sizeof(names) - at, " gfx%lu%lx%lx",
				version / 10000, version / 100 % 100, version % 100);
	}
	if (folder)
		closedir(folder);
	if (gpus)
		doctor_add(doctor, DOCTOR_OK, "topology", NULL, "%zu GPUs:%s", gpus, names);
	else
		doctor_add(doctor, DOCTOR_FAIL, "topology",
			folder ? "check dmesg for amdgpu" : "load amdgpu", TOPOLOGY "%s",
			folder ? ": no GPU" : ": not there");
}

/* Checks variables that hide every GPU from the job. */
static void check_visibility(struct doctor *doctor)
{
	static const char *const names[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && (!*value || *value == '-'))
			doctor_add(doctor, DOCTOR_WARN, "visible", "unset it",
				"%s=%s hides every GPU", names[i], value);
		else if (value)
			doctor_add(doctor, DOCTOR_OK, "visible", NULL, "%s=%s", names[i], value);
	}
}

void doctor_check_devices(struct doctor *doctor)
{
	if (!doctor->is_soft) {
		check_kfd(doctor);
		check_render_nodes(doctor);
		check_groups(doctor);
		check_topology(doctor);
	}
	check_visibility(doctor);
}
