/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A short life of a session on a disk, or with memory, that fails: what came of it, whatever
 * trouble the store told of on the way. Tests.
 */
#include <stdbool.h>
#include <stdint.h>

#include "tests/unit/collectord/store/harness.h"

#define LIFE_FRAMES 8u
#define LIFE_EACH   100u
/* The first of them are one transaction, of more shapes than there is room for at a time. */
#define LIFE_FIRST  3u

enum life_end {
	LIFE_NOT_OPENED, /* FAILED */
	LIFE_CLOSED,	 /* h->answer says how */
};

/*
 * Opens or re-opens the session, sends LIFE_FRAMES frames, ends with a recorder, closes.
 */
enum life_end life_run(struct harness *h);

/* The next answer, in h->answer, but for trouble that comes and goes. */
enum store_answer_kind life_wait(struct harness *h);

/* The store again, with @give_up_ms. */
void life_restart(struct harness *h, unsigned give_up_ms);

/* The file is gone; for the next round. */
void life_forget(struct harness *h);

/* Every n of a sample of 1..@count: some at the start, then wider; all with RTL_TEST_LONG. */
uint64_t life_next(uint64_t n, uint64_t count);

/* In the file: rows are those of the frames that count as committed, and the books are right. */
void life_check(struct harness *h);
