// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "proto/base/cleanup.h"
#include "proto/base/network_fs.h"

/* A kernel takes 100 bytes: room for ten million kernels; and the minimum for any job. */
#define SPACE_WARN_BYTES (1ull << 30)
#define SPACE_FAIL_BYTES (64ull << 20)

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static void check_folder(struct doctor *doctor, const char *path, const char *purpose)
{
	const char *todo = "write elsewhere: rtl run -o FILE on a local disk";
	const char *name;
	struct statfs fs;
	uint64_t free_bytes;

	if (statfs(path, &fs) < 0) {
		if (errno != ENOENT)
			doctor_add(doctor, DOCTOR_WARN, "disk", NULL, "%s (%s): %s", path, purpose,
				strerror(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	name = network_fs_name(path);
	if (name)
		doctor_add(doctor, DOCTOR_WARN, "disk", todo,
			"%s (%s): on %s, where SQLite's locks do not hold: nothing is stored there "
			"but with RTL_ALLOW_NETWORK_FS=1 (the service: --allow-network-fs)",
			path, purpose, name);
	if (free_bytes < SPACE_WARN_BYTES)
		doctor_add(doctor, free_bytes < SPACE_FAIL_BYTES ? DOCTOR_FAIL : DOCTOR_WARN,
			"disk", todo, "%s (%s): %" PRIu64 " MiB free", path, purpose,
			free_bytes >> 20);
	else if (!name)
		doctor_add(doctor, DOCTOR_OK, "disk", NULL, "%s (%s): %" PRIu64 " GiB free, local",
			path, purpose, free_bytes >> 30);
}

static void check_disks(struct doctor *doctor)
{
	check_folder(doctor, "/var/lib/rtl", "the service's store");
	check_folder(doctor, ".", "where rtl run writes by default");
}

/*
 * Checks functions of the kernel that the shim's recorder and the collector need; seccomp filters
 * and old kernels lack them.
 */
static void check_kernel(struct doctor *doctor)
{
	CLEANUP(close_p) int memory = memfd_create("rtl-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int memory_error = errno;
	CLEANUP(close_p) int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int process_error = errno;
	struct utsname name;

	if (memory < 0)
		doctor_add(doctor, DOCTOR_FAIL, "kernel",
			"allow it in the container's seccomp rules",
			"memfd_create: %s: the shim has nowhere to record", strerror(memory_error));
	if (process < 0)
		doctor_add(doctor, DOCTOR_FAIL, "kernel",
			"Linux 5.3 or newer, and seccomp rules that allow it",
			"pidfd_open: %s: the end of a process is not seen",
			strerror(process_error));
	if (memory >= 0 && process >= 0 && uname(&name) == 0)
		doctor_add(doctor, DOCTOR_OK, "kernel", NULL, "%s", name.release);
}

static void check_clock(struct doctor *doctor)
{
	CLEANUP(free_p) char *source = NULL;
	size_t capacity = 0;
	FILE *file = fopen(CLOCK_SOURCE, "re");

	if (!file)
		return; /* sysfs is hidden, and the user of a container cannot change that */
	if (getline(&source, &capacity, file) > 0)
		source[strcspn(source, "\n")] = '\0';
	(void)fclose(file); /* it was only read */
	if (!source || !*source)
		return;
	if (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm") || !strcmp(source, "jiffies"))
		doctor_add(doctor, DOCTOR_WARN, "clock", "see dmesg why the kernel gave up tsc",
			"%s: reading the time costs the job a system call per dispatch", source);
	else
		doctor_add(doctor, DOCTOR_OK, "clock", NULL, "%s", source);
}

void doctor_check_system(struct doctor *doctor)
{
	check_kernel(doctor);
	check_disks(doctor);
	check_clock(doctor);
}
