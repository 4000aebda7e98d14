/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Files that were seen, by any of their names: found again in logarithmic time, however many there
 * are. A zeroed struct is an empty set. One thread.
 */
#include <stdbool.h>

struct path_set {
	void *tree;
};

void path_set_done(struct path_set *set);
/* @path, and what it is without links. Without memory the file is unknown: it is shown twice. */
void path_set_add(struct path_set *set, const char *path);
bool path_set_has(const struct path_set *set, const char *path);
