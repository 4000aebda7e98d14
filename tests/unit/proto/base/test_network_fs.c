/* SPDX-License-Identifier: MIT */
/* File systems on which nothing is stored, and what rtl doctor says of them. */
#include "proto/base/network_fs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "cli/doctor/doctor.h"
#include "proto/base/cleanup.h"
#include "tests/lib/test.h"

static long magic;

/* The program's own comes before libc's: no network is needed. */
int statfs(const char *path, struct statfs *ret)
{
	(void)path;
	memset(ret, 0, sizeof(*ret));
	ret->f_type = magic;
	ret->f_bsize = 4096;
	ret->f_bavail = 1 << 20;
	return 0;
}

TEST_CASE(network_file_systems_are_named)
{
	magic = 0x6969;
	assert_string_equal(network_fs_name("/anywhere"), "NFS");
	magic = 0x0bd00bd0;
	assert_string_equal(network_fs_name("/anywhere"), "Lustre");
	magic = (long)0xff534d42;
	assert_string_equal(network_fs_name("/anywhere"), "CIFS");
	magic = 0x65735546;
	assert_string_equal(network_fs_name("/anywhere"), "FUSE");
	magic = 0xef53; /* ext4 */
	assert_null(network_fs_name("/anywhere"));
	magic = 0x01021994; /* tmpfs */
	assert_null(network_fs_name("/anywhere"));
}

static const struct doctor_finding *find_disk(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (!strcmp(doctor->findings[i].what, "disk") &&
			!strncmp(doctor->findings[i].detail, ". ", 2))
			return doctor->findings + i;
	return NULL;
}

TEST_CASE(doctor_knows_where_nothing_is_stored)
{
	CLEANUP(free_p) struct doctor *doctor = calloc(1, sizeof(*doctor));
	const struct doctor_finding *disk;

	magic = 0x20030528; /* OrangeFS */
	doctor_check_system(doctor);
	disk = find_disk(doctor);
	assert_non_null(disk);
	assert_int_equal(disk->level, DOCTOR_WARN);
	assert_non_null(strstr(disk->detail, "on OrangeFS, where SQLite's locks do not hold: "
					     "nothing is stored there"));
	magic = 0xef53;
	doctor->count = 0;
	doctor_check_system(doctor);
	disk = find_disk(doctor);
	assert_non_null(disk);
	assert_int_equal(disk->level, DOCTOR_OK);
}
