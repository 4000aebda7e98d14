/* SPDX-License-Identifier: MIT */
#pragma once
/* Removes a folder of a test with all that is in it. 0 or -1 with errno. */
int folder_remove(const char *path);
