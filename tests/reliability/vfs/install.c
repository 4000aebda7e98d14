/* SPDX-License-Identifier: MIT */
/* Linked into a program, RTL_VFS has its databases on a disk that fails. */
#include "tests/reliability/vfs/fault_vfs.h"

__attribute__((constructor)) static void install(void)
{
	fault_vfs_install();
}
