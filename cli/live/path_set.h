/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Files that were seen, by any of their names: found again in logarithmic time, however many there
 * are. A zeroed struct is an empty set. One thread.
 */
#include <stdbool.h>

struct path_set {
	void *names, *files;
};

void path_set_done(struct path_set *set);
/* @path, which need not be there. Without memory it stays unknown: it is shown twice. */
void path_set_add(struct path_set *set, const char *path);
/* That file, by whatever name. */
bool path_set_has(const struct path_set *set, const char *path);
/* That name, of a file that may be gone. */
bool path_set_has_name(const struct path_set *set, const char *path);
