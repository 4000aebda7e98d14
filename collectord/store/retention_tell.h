/* SPDX-License-Identifier: MIT */
#pragma once
/* What retention tells: of what went, and of what has to stay. Store thread. */

struct index_removed;
struct store;

/* Of one session; @data is the store. */
void retention_say_removed(const struct index_removed *removed, void *data);

/* @why it cannot go. */
void retention_say_kept(struct store *store, const char *database, const char *why);

/*
 * The index cannot be read or written, without which nothing is removed: told once, and when it could
 * be written again (@error 0). What passes by itself is nothing to tell.
 */
void retention_say_index(struct store *store, int error);

const char *retention_explain(int error);
