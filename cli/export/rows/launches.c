// SPDX-License-Identifier: MIT
#include "cli/export/rows/launches.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"

#define CHUNK_BITS 9
#define CHUNK_MASK (((int64_t)1 << CHUNK_BITS) - 1)
#define WORDS	   ((size_t)1 << (CHUNK_BITS - 6))

struct launches_chunk {
	uint64_t kernels[WORDS], copies[WORDS];
};

static int64_t chunk_key(size_t process, int64_t call)
{
	return ((int64_t)process << 18) | (call >> CHUNK_BITS);
}

static int64_t more_key(size_t process, int64_t call)
{
	return ((int64_t)process << 27) | call;
}

static struct launches_chunk *find(const struct launches *launches, size_t process, int64_t call)
{
	uint32_t at = idmap_find(&launches->index, chunk_key(process, call));

	return at == IDMAP_NONE ? NULL : launches->chunks + at;
}

static struct launches_chunk *add(struct launches *launches, size_t process, int64_t call)
{
	uint32_t *at = idmap_at(&launches->index, chunk_key(process, call));
	struct launches_chunk *grown;

	if (!at)
		return NULL;
	if (*at != IDMAP_NONE)
		return launches->chunks + *at;
	grown = grow_by_one(launches->chunks, launches->count, sizeof(*grown));
	if (!grown)
		return NULL;
	launches->chunks = grown;
	grown[launches->count] = (struct launches_chunk){0};
	*at = (uint32_t)launches->count;
	return grown + launches->count++;
}

static bool set(uint64_t *words, int64_t call)
{
	uint64_t bit = (uint64_t)1 << (call & 63);
	uint64_t *word = words + ((call & CHUNK_MASK) >> 6);
	bool was_set = *word & bit;

	*word |= bit;
	return !was_set;
}

static bool is_set(const uint64_t *words, int64_t call)
{
	return words[(call & CHUNK_MASK) >> 6] >> (call & 63) & 1;
}

int64_t launches_add_kernel(struct launches *launches, size_t process, int64_t call)
{
	struct launches_chunk *chunk = add(launches, process, call);
	uint32_t *kernels;

	if (!chunk)
		return -ENOMEM;
	if (set(chunk->kernels, call))
		return 0;
	kernels = idmap_at(&launches->more, more_key(process, call));
	if (!kernels)
		return -ENOMEM;
	if (*kernels == IDMAP_NONE)
		*kernels = 1;
	return (*kernels)++;
}

int launches_add_copy(struct launches *launches, size_t process, int64_t call)
{
	struct launches_chunk *chunk = add(launches, process, call);

	return chunk ? set(chunk->copies, call) : -ENOMEM;
}

int64_t launches_kernels(const struct launches *launches, size_t process, int64_t call)
{
	const struct launches_chunk *chunk = find(launches, process, call);
	uint32_t kernels;

	if (!chunk || !is_set(chunk->kernels, call))
		return 0;
	kernels = idmap_find(&launches->more, more_key(process, call));
	return kernels == IDMAP_NONE ? 1 : (int64_t)kernels;
}

bool launches_has_copy(const struct launches *launches, size_t process, int64_t call)
{
	const struct launches_chunk *chunk = find(launches, process, call);

	return chunk && is_set(chunk->copies, call);
}

void launches_done(struct launches *launches)
{
	idmap_done(&launches->index);
	idmap_done(&launches->more);
	free(launches->chunks);
}
