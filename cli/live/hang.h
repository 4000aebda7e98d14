/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds the sessions that hang, for the lines of rtl stat. The rule is that of rtl summary's
 * reason. One thread; prints nothing.
 */
#include "cli/collector/sample.h"

/*
 * Sets hang of the sessions of @now that have work in flight and belong to this user or are the one
 * that the user named. Reads their databases, but no more than a twentieth of the time; between two
 * readings, what @before has is kept. @before may be NULL. A database that cannot be read has no
 * hang: rtl stat --outstanding says why.
 */
void stat_find_hangs(struct sample *now, const struct sample *before, bool is_named);
