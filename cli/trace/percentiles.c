// SPDX-License-Identifier: MIT
#include "cli/trace/percentiles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

/* The first chunk of a list is small, because there are many lists of few kernels. */
#define CHUNK_FIRST  12
#define CHUNK_MAX    4092
/* Below this number a comparison sort is faster than counting. */
#define COUNTING_MIN 512
#define DIGIT_BITS   11
#define DIGITS	     (1u << DIGIT_BITS)

struct durations_chunk {
	struct durations_chunk *next;
	uint32_t count, capacity;
	uint32_t ns[];
};

static int add_chunk(struct durations *d)
{
	uint32_t capacity = d->last ? d->last->capacity * 2 + 4 : CHUNK_FIRST;
	struct durations_chunk *chunk;

	if (capacity > CHUNK_MAX)
		capacity = CHUNK_MAX;
	chunk = malloc(sizeof(*chunk) + capacity * sizeof(chunk->ns[0]));
	if (!chunk)
		return -ENOMEM;
	*chunk = (struct durations_chunk){.capacity = capacity};
	if (d->last)
		d->last->next = chunk;
	else
		d->first = chunk;
	d->last = chunk;
	return 0;
}

int durations_add(struct durations *durations, int64_t ns)
{
	struct durations_chunk *last = durations->last;

	if (ns > UINT32_MAX) {
		if (GROW(durations->long_ns, durations->long_count, durations->long_capacity))
			return -ENOMEM;
		durations->long_ns[durations->long_count++] = ns;
		return 0;
	}
	if (!last || last->count == last->capacity) {
		if (add_chunk(durations))
			return -ENOMEM;
		last = durations->last;
	}
	last->ns[last->count++] = ns < 0 ? 0 : (uint32_t)ns;
	durations->count++;
	return 0;
}

void durations_done(struct durations *durations)
{
	while (durations->first) {
		struct durations_chunk *chunk = durations->first;

		durations->first = chunk->next;
		free(chunk);
	}
	free(durations->long_ns);
	*durations = (struct durations){0};
}

void durations_room_done(struct durations_room *room)
{
	free(room->ns);
	free(room->other);
	free(room->long_ns);
	*room = (struct durations_room){0};
}

static int make_room(struct durations_room *room, size_t count, size_t long_count)
{
	if (count > room->capacity) {
		free(room->ns);
		free(room->other);
		room->ns = calloc(count, sizeof(*room->ns));
		room->other = calloc(count, sizeof(*room->other));
		room->capacity = room->ns && room->other ? count : 0;
		if (!room->capacity)
			return -ENOMEM;
	}
	if (long_count > room->long_capacity) {
		free(room->long_ns);
		room->long_ns = calloc(long_count, sizeof(*room->long_ns));
		room->long_capacity = room->long_ns ? long_count : 0;
		if (!room->long_capacity)
			return -ENOMEM;
	}
	return 0;
}

static int compare_short(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int compare_long(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts by one digit into the other half of the room; false if all have the same digit. */
static bool count_digit(struct durations_room *room, size_t count, unsigned shift)
{
	size_t at[DIGITS] = {0}, sum = 0;
	uint32_t *swap;

	for (size_t i = 0; i < count; i++)
		at[room->ns[i] >> shift & (DIGITS - 1)]++;
	if (at[room->ns[0] >> shift & (DIGITS - 1)] == count)
		return false;
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
	return true;
}

static void sort(struct durations_room *room, size_t count, size_t long_count)
{
	if (long_count)
		qsort(room->long_ns, long_count, sizeof(*room->long_ns), compare_long);
	if (count < COUNTING_MIN) {
		if (count)
			qsort(room->ns, count, sizeof(*room->ns), compare_short);
		return;
	}
	for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS)
		(void)count_digit(room, count, shift);
}

static int64_t nearest_rank(
	const struct durations_room *room, size_t count, size_t long_count, unsigned percent)
{
	size_t all = count + long_count;
	/* The sum of the parts does not overflow, and rounds up like the whole. */
	size_t rank = all / 100 * percent + (all % 100 * percent + 99) / 100;

	return rank <= count ? room->ns[rank - 1] : room->long_ns[rank - 1 - count];
}

static void collect(
	const struct durations *const *lists, size_t lists_count, struct durations_room *room)
{
	size_t at = 0, long_at = 0;

	for (size_t i = 0; i < lists_count; i++) {
		const struct durations_chunk *chunk = lists[i]->first;

		for (; chunk; chunk = chunk->next) {
			memcpy(room->ns + at, chunk->ns, chunk->count * sizeof(*room->ns));
			at += chunk->count;
		}
		for (size_t k = 0; k < lists[i]->long_count; k++)
			room->long_ns[long_at++] = lists[i]->long_ns[k];
	}
}

int durations_of(const struct durations *const *lists, size_t count, struct durations_room *room,
	struct durations_percentiles *ret)
{
	size_t all = 0, all_long = 0;
	int r;

	for (size_t i = 0; i < count; i++) {
		all += lists[i]->count;
		all_long += lists[i]->long_count;
	}
	if (!all && !all_long)
		return -ENODATA;
	r = make_room(room, all, all_long);
	if (r)
		return r;
	collect(lists, count, room);
	sort(room, all, all_long);
	*ret = (struct durations_percentiles){
		nearest_rank(room, all, all_long, 50),
		nearest_rank(room, all, all_long, 95),
		nearest_rank(room, all, all_long, 99),
	};
	return 0;
}
