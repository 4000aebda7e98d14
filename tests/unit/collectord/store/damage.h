/* SPDX-License-Identifier: MIT */
#pragma once
/* Files of a store that a test damages, and what became of them. Asserts through cmocka. */
#include "tests/unit/collectord/store/harness.h"

#include <sys/types.h>

void damage_put(const char *path, off_t at, const void *bytes, size_t count);
off_t damage_size(const char *path);

/* Every page but the first is rubbish all at once, and what the writer has cached is void. */
void damage_scribble(const struct harness *h);

/* Files that were set aside of h->path; the path of the first, where @ret_first is one. */
unsigned damage_count_aside(const struct harness *h, char *ret_first, size_t bytes);
