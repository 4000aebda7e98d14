/* SPDX-License-Identifier: MIT */
#pragma once
/* Answers that report what retention removed, and what it could not remove. Store thread. */

struct index_removed;
struct store;

/* Reports one session; @data is the store. */
void retention_say_removed(const struct index_removed *removed, void *data);

/* @why it cannot be removed. */
void retention_say_kept(struct store *store, const char *database, const char *why);

/*
 * Reports once that the index cannot be read or written, without which nothing is removed, and
 * again when it can be written (@error is 0). Errors that pass by themselves are not reported.
 */
void retention_say_index(struct store *store, int error);

const char *retention_explain(int error);
