// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/percentiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"

/* Below this number a comparison sort is faster than counting. */
#define COUNTING_MIN 512
#define DIGIT_BITS   11
#define DIGITS	     (1u << DIGIT_BITS)

void durations_add(struct durations *durations, int64_t ns)
{
	GROW(durations->ns, durations->count, durations->capacity);
	durations->ns[durations->count++] = ns < 0 ? 0 : ns;
}

void durations_done(struct durations *durations)
{
	free(durations->ns);
	*durations = (struct durations){0};
}

void durations_room_done(struct durations_room *room)
{
	free(room->ns);
	free(room->other);
	*room = (struct durations_room){0};
}

static void make_room(struct durations_room *room, size_t count)
{
	if (count <= room->capacity)
		return;
	durations_room_done(room);
	room->ns = xcalloc(count, sizeof(*room->ns));
	room->other = xcalloc(count, sizeof(*room->other));
	room->capacity = count;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts by one digit into the other half of the room, unless all have the same digit. */
static void count_digit(struct durations_room *room, size_t count, unsigned shift)
{
	size_t at[DIGITS] = {0}, sum = 0;
	int64_t *swap;

	for (size_t i = 0; i < count; i++)
		at[room->ns[i] >> shift & (DIGITS - 1)]++;
	if (at[room->ns[0] >> shift & (DIGITS - 1)] == count)
		return;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t n = at[digit];

		at[digit] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		room->other[at[room->ns[i] >> shift & (DIGITS - 1)]++] = room->ns[i];
	swap = room->ns;
	room->ns = room->other;
	room->other = swap;
}

static void sort(struct durations_room *room, size_t count)
{
	int64_t bits = 0;

	if (count < COUNTING_MIN) {
		qsort(room->ns, count, sizeof(*room->ns), compare);
		return;
	}
	for (size_t i = 0; i < count; i++)
		bits |= room->ns[i];
	for (unsigned shift = 0; shift < 63 && bits >> shift; shift += DIGIT_BITS)
		count_digit(room, count, shift);
}

static int64_t nearest_rank(const struct durations_room *room, size_t count, unsigned percent)
{
	/* The sum of the parts does not overflow, and rounds up like the whole. */
	return room->ns[count / 100 * percent + (count % 100 * percent + 99) / 100 - 1];
}

int durations_of(const struct durations *const *lists, size_t count, struct durations_room *room,
	struct durations_percentiles *ret)
{
	size_t all = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		all += lists[i]->count;
	if (!all)
		return -ENODATA;
	make_room(room, all);
	for (size_t i = 0; i < count; i++) {
		if (lists[i]->count)
			memcpy(room->ns + at, lists[i]->ns, lists[i]->count * sizeof(*room->ns));
		at += lists[i]->count;
	}
	sort(room, all);
	*ret = (struct durations_percentiles){nearest_rank(room, all, 50),
		nearest_rank(room, all, 95), nearest_rank(room, all, 99)};
	return 0;
}
