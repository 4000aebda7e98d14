/* SPDX-License-Identifier: MIT */
#include "proto/base/network_fs.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

/* linux/magic.h has not all of them. */
static const struct {
	uint32_t magic;
	const char *name;
} network[] = {
	{0x6969, "NFS"},
	{0x0bd00bd0, "Lustre"},
	{0x47504653, "GPFS"},
	{0x65735546, "FUSE"},
	{0xff534d42, "CIFS"},
	{0xfe534d42, "SMB"},
	{0x517b, "SMB"},
	{0x00c36400, "Ceph"},
	{0x19830326, "BeeGFS"},
	{0x20030528, "OrangeFS"},
	{0xaad7aaea, "PanFS"},
	{0x5346414f, "AFS"},
	{0x01021997, "9P"},
};

const char *network_fs_name(const char *folder)
{
	struct statfs fs;

	if (statfs(folder, &fs) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(network) / sizeof(network[0]); i++)
		if ((uint32_t)fs.f_type == network[i].magic)
			return network[i].name;
	return NULL;
}
