/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the titles of tables mean, as the help of a verb says: "CALLS: dispatches that are stored.
 * TOTAL, AVG: of those with times." An entry is a sentence or a part before a semicolon. A title
 * with a unit (TOTAL ms) is explained by the entry of that title, else by that without the unit.
 * Pure functions.
 */
#include <stddef.h>

/* Returns the entry of @titles that explains @title, with its @ret_length bytes, or NULL. */
const char *titles_find(const char *titles, const char *title, size_t *ret_length);
