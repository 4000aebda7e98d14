/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A set of files that were seen, found by any of their names in logarithmic time. A zeroed struct
 * is an empty set. One thread.
 */
#include <stdbool.h>

struct path_set {
	void *names, *files;
};

void path_set_done(struct path_set *set);
/*
 * Adds @path, which need not exist. If memory is short, it is not added, and the file is shown
 * twice.
 */
void path_set_add(struct path_set *set, const char *path);
/* True if that file is in the set, under any name. */
bool path_set_has(const struct path_set *set, const char *path);
/* True if that name is in the set; the file may be gone. */
bool path_set_has_name(const struct path_set *set, const char *path);
