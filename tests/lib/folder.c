/* SPDX-License-Identifier: MIT */
#include "tests/lib/folder.h"

#include <ftw.h>
#include <stdio.h>

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int folder_remove(const char *path)
{
	return nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
