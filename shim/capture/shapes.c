// SPDX-License-Identifier: MIT
#include "shim/capture/batch_state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "proto/wire/frame.h"
#include "shim/record/protobuf_writer.h"
#include "shim/record/recorder.h"

/* Field numbers of rtl.proto. */
enum {
	FRAME_DEFINES = 4,
	DEFINES_SHAPES = 3,
	SHAPE_ID = 1,
	SHAPE_GPU = 2,
	SHAPE_QUEUE = 3,
	SHAPE_SYMBOL = 4,
	SHAPE_WORKGROUP = 5,
	SHAPE_GRID = 6,
	SHAPE_LDS = 7,
	SHAPE_SCRATCH = 8,
};

#define SHAPE_FRAME_BYTES_MAX 96u

/* How exactly a shape is stored, and up to which id each level may go. */
enum shape_level {
	LEVEL_EXACT,
	LEVEL_SYMBOL, /* queue and symbol */
	LEVEL_QUEUE,  /* only the queue: one shape per queue, so ids cannot run out */
	LEVELS,
};
static const uint32_t level_ids_max[LEVELS] = {
	PROCESS_SHAPES_MAX - 8192 - RECORDER_QUEUES - 1,
	PROCESS_SHAPES_MAX - RECORDER_QUEUES - 1,
	PROCESS_SHAPES_MAX - 1,
};

int shapes_init(struct shapes *shapes)
{
	void *index, *keys;

	memset(shapes, 0, sizeof(*shapes));
	index = mmap(NULL, SHAPE_INDEX * sizeof(*shapes->index), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (index == MAP_FAILED)
		return -ENOMEM;
	shapes->index = index;
	keys = mmap(NULL, PROCESS_SHAPES_MAX * sizeof(*shapes->keys), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (keys == MAP_FAILED) {
		shapes_done(shapes);
		return -ENOMEM;
	}
	shapes->keys = keys;
	return 0;
}

void shapes_done(struct shapes *shapes)
{
	if (shapes->index)
		munmap(shapes->index, SHAPE_INDEX * sizeof(*shapes->index));
	if (shapes->keys)
		munmap(shapes->keys, PROCESS_SHAPES_MAX * sizeof(*shapes->keys));
	memset(shapes, 0, sizeof(*shapes));
}

static uint32_t key_hash(const struct shape_key *key)
{
	uint64_t word[sizeof(*key) / sizeof(uint64_t)];
	uint64_t hash = 0x9e3779b97f4a7c15ull;

	memcpy(word, key, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		hash = (hash ^ word[i]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

/* The entry of @key, or the empty one where it has to be inserted: the index is never full. */
static uint32_t *index_find(struct shapes *shapes, const struct shape_key *key)
{
	uint32_t at = key_hash(key) % SHAPE_INDEX;

	while (shapes->index[at] &&
		memcmp(&shapes->keys[shapes->index[at]], key, sizeof(*key)) != 0)
		at = (at + 1) % SHAPE_INDEX;
	return &shapes->index[at];
}

static size_t shape_encode(uint32_t id, const struct shape_key *key, uint8_t *at)
{
	uint8_t body[SHAPE_FRAME_BYTES_MAX], *end = body;
	const uint32_t workgroup[3] = {key->workgroup[0], key->workgroup[1], key->workgroup[2]};
	size_t workgroup_bytes = 0, grid_bytes = 0, bytes;
	uint8_t *start = at;

	for (int i = 0; i < 3; i++) {
		workgroup_bytes += pb_varint_bytes(workgroup[i]);
		grid_bytes += pb_varint_bytes(key->grid[i]);
	}
	end = pb_put_uint(end, SHAPE_ID, id);
	end = pb_put_uint(end, SHAPE_GPU, key->gpu);
	end = pb_put_uint(end, SHAPE_QUEUE, key->queue);
	if (key->symbol)
		end = pb_put_uint(end, SHAPE_SYMBOL, key->symbol);
	end = pb_put_packed32(end, SHAPE_WORKGROUP, workgroup, 3, workgroup_bytes);
	end = pb_put_packed32(end, SHAPE_GRID, key->grid, 3, grid_bytes);
	end = pb_put_uint(end, SHAPE_LDS, key->lds);
	end = pb_put_uint(end, SHAPE_SCRATCH, key->scratch);
	bytes = (size_t)(end - body);

	at += FRAME_PREFIX_BYTES;
	at = pb_put_head(at, FRAME_DEFINES, pb_field_bytes(DEFINES_SHAPES, bytes));
	at = pb_put_head(at, DEFINES_SHAPES, bytes);
	memcpy(at, body, bytes);
	at += bytes;
	frame_put_length(start, (uint32_t)(at - start - FRAME_PREFIX_BYTES));
	return (size_t)(at - start);
}

static struct shape_key key_coarsen(const struct shape_key *key, enum shape_level level)
{
	struct shape_key coarse = *key;

	if (level >= LEVEL_SYMBOL) {
		coarse = (struct shape_key){0};
		coarse.gpu = key->gpu;
		coarse.queue = key->queue;
		coarse.symbol = level == LEVEL_SYMBOL ? key->symbol : 0;
	}
	return coarse;
}

static int shape_define(struct shapes *shapes, struct recorder *recorder,
	const struct shape_key *key, enum shape_level level, bool is_inline, uint32_t *entry)
{
	uint8_t frame[FRAME_PREFIX_BYTES + SHAPE_FRAME_BYTES_MAX + 8];
	unsigned how = is_inline ? RECORDER_DEFINE_TRY : RECORDER_DEFINE_WAIT;
	uint32_t id = shapes->used + 1;
	int r;

	if (id > level_ids_max[level])
		return -ENOSPC;
	if (level != LEVEL_EXACT)
		how |= level == LEVEL_QUEUE ? RECORDER_DEFINE_QUEUE : RECORDER_DEFINE_LAST;
	r = recorder_define(recorder, frame, shape_encode(id, key, frame), how);
	if (r < 0)
		return r;
	shapes->keys[id] = *key;
	shapes->used = id;
	*entry = id;
	return 0;
}

int shapes_intern(struct shapes *shapes, struct recorder *recorder, const struct shape_key *key,
	bool is_inline, uint32_t *ret, bool *ret_overflow)
{
	uint64_t words[SHAPE_KEY_WORDS];
	uint32_t *recent;
	int r = -ENOSPC;

	memcpy(words, key, sizeof(words));
	recent = &shapes->recent[shape_place(words)];
	*ret_overflow = false;
	for (enum shape_level level = LEVEL_EXACT; level < LEVELS && r == -ENOSPC; level++) {
		struct shape_key coarse = key_coarsen(key, level);
		uint32_t *entry = index_find(shapes, &coarse);

		r = 0;
		if (!*entry) {
			r = shape_define(shapes, recorder, &coarse, level, is_inline, entry);
			*ret_overflow = r == 0 && level != LEVEL_EXACT;
		}
		if (r == 0)
			*ret = *recent = *entry;
	}
	return r;
}
