// SPDX-License-Identifier: MIT
#include "cli/timeline/process_gpus.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

int timeline_places_load(struct query *query, struct timeline_places *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "lanes", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		if (GROW(ret->at, ret->count, ret->capacity))
			return -ENOMEM;
		ret->at[ret->count++] =
			(struct timeline_place){query_integer(rows, 0), query_integer(rows, 1)};
		r = 0;
	}
	return r;
}

void timeline_places_done(struct timeline_places *places)
{
	free(places->at);
	*places = (struct timeline_places){0};
}

static int compare(const void *a, const void *b)
{
	const struct timeline_place *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

static bool computes_on(const struct timeline_places *places, struct timeline_place place)
{
	return places->count && bsearch(&place, places->at, places->count, sizeof(place), compare);
}

size_t timeline_places_of_copy(const struct timeline_places *places, int64_t process_id,
	const struct query_rows *rows, int source, int target, int64_t ret[2])
{
	const int ends[] = {target, source};
	size_t count = 0;

	for (int i = 0; i < 2; i++) {
		const int64_t gpu_id = query_integer(rows, ends[i]);

		if (query_is_null(rows, ends[i]) || (count && ret[0] == gpu_id) ||
			!computes_on(places, (struct timeline_place){process_id, gpu_id}))
			continue;
		ret[count++] = gpu_id;
	}
	for (int i = 0; i < 2 && !count; i++)
		if (!query_is_null(rows, ends[i]))
			ret[count++] = query_integer(rows, ends[i]);
	return count;
}
