/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "shim/capture/tables/symbols.h"
#include "tests/lib/test.h"

static struct symbols symbols;

struct fixture {
	struct recorder recorder;
	struct strings strings;
	struct msg_arena arena;
};

static int fixture_setup(void **state)
{
	struct recorder_identity identity = {.pid = 1};
	struct fixture *f = calloc(1, sizeof(*f));

	if (recorder_create(&identity, &f->recorder))
		return -1;
	strings_init(&f->strings, &f->recorder);
	symbols_init(&symbols, &f->recorder, &f->strings);
	msg_arena_init(&f->arena, ARENA_BYTES_MAX);
	*state = f;
	return 0;
}

static int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	msg_arena_done(&f->arena);
	strings_done(&f->strings);
	recorder_close(&f->recorder);
	free(f);
	return 0;
}

/* The name of symbol @id as a reader of the define log finds it; "" for none, NULL: no such. */
static const char *defined_name(struct fixture *f, uint32_t id, char *name, size_t room)
{
	size_t left;
	const uint8_t *at = recorder_defines_from(&f->recorder, 0, &left);
	uint32_t string = UINT32_MAX;

	for (int pass = 0; pass < 2; pass++) {
		const uint8_t *frame_at = at;
		size_t rest = left;

		while (rest) {
			uint32_t bytes = frame_get_length(frame_at);
			Rtl__Frame *frame;

			assert_int_equal(msg_unpack(&f->arena, frame_at + 4, bytes, &frame), 0);
			for (size_t i = 0; !pass && i < frame->defines->n_symbols; i++)
				if (frame->defines->symbols[i]->id == id)
					string = frame->defines->symbols[i]->has_name
							 ? frame->defines->symbols[i]->name
							 : 0;
			for (size_t i = 0; pass && i < frame->defines->n_strings; i++)
				if (frame->defines->strings[i]->id == string)
					snprintf(name, room, "%.*s",
						(int)frame->defines->strings[i]->text.len,
						frame->defines->strings[i]->text.data);
			frame_at += 4 + bytes;
			rest -= 4 + bytes;
		}
		if (string == UINT32_MAX)
			return NULL;
		if (!string)
			return "";
	}
	return name;
}

#define CASE(claim) TEST_CASE_WITH(claim, fixture_setup, fixture_teardown, struct fixture *f)

CASE(a_loaded_kernel_is_found_by_its_object)
{
	char name[64];

	symbols_add(&symbols, 0x1000, "gemm.kd", 7);
	symbols_add(&symbols, 0x1040, "relu.kd", 7);
	assert_int_equal(symbols_find(&symbols, 0x1080), 0);
	assert_string_equal(
		defined_name(f, symbols_find(&symbols, 0x1000), name, sizeof(name)), "gemm.kd");
	assert_string_equal(
		defined_name(f, symbols_find(&symbols, 0x1040), name, sizeof(name)), "relu.kd");
}

CASE(an_address_used_again_never_lends_its_old_name)
{
	uint32_t old, new;
	char name[64];

	symbols_add(&symbols, 0x1000, "old.kd", 6);
	old = symbols_find(&symbols, 0x1000);
	symbols_remove(&symbols, 0x1000);
	assert_int_equal(symbols_find(&symbols, 0x1000), 0);
	symbols_add(&symbols, 0x1000, "new.kd", 6);
	new = symbols_find(&symbols, 0x1000);
	assert_int_not_equal(new, old);
	/* Records that are still on their way keep theirs. */
	assert_string_equal(defined_name(f, old, name, sizeof(name)), "old.kd");
	assert_string_equal(defined_name(f, new, name, sizeof(name)), "new.kd");
}

CASE(loading_the_same_again_defines_nothing_new)
{
	uint64_t bytes;
	uint32_t id;

	symbols_add(&symbols, 0x2000, "same.kd", 7);
	id = symbols_find(&symbols, 0x2000);
	bytes = atomic_load(&f->recorder.header->define_bytes);
	for (int i = 0; i < 1000; i++) {
		symbols_remove(&symbols, 0x2000);
		symbols_add(&symbols, 0x2000, "same.kd", 7);
		assert_int_equal(symbols_find(&symbols, 0x2000), id);
	}
	assert_int_equal(atomic_load(&f->recorder.header->define_bytes), bytes);
}

CASE(an_unknown_object_gets_one_nameless_symbol)
{
	uint32_t id = symbols_define_unknown(&symbols, 0x3000);
	char name[64];

	assert_int_not_equal(id, 0);
	assert_int_equal(symbols_define_unknown(&symbols, 0x3000), id);
	assert_int_not_equal(symbols_define_unknown(&symbols, 0x3040), id);
	assert_string_equal(defined_name(f, id, name, sizeof(name)), "");
	/* Dispatches to come are not bound to it: the name may still be learnt. */
	assert_int_equal(symbols_find(&symbols, 0x3000), 0);
	symbols_add(&symbols, 0x3000, "late.kd", 7);
	assert_string_equal(
		defined_name(f, symbols_find(&symbols, 0x3000), name, sizeof(name)), "late.kd");
}

CASE(a_full_define_log_is_counted_and_named)
{
	static char text[SYMBOL_BYTES_MAX];
	char name[64];
	uint32_t id;

	memset(text, 'x', sizeof(text));
	for (uint64_t i = 1; i <= 400; i++) {
		memcpy(text, &i, sizeof(i));
		symbols_add(&symbols, i * 64, text, sizeof(text));
		assert_int_not_equal(symbols_find(&symbols, i * 64), 0);
	}
	id = symbols_find(&symbols, 400 * 64);
	assert_string_equal(defined_name(f, id, name, sizeof(name)), "<name-overflow>");
	assert_true(atomic_load(&f->recorder.header->process[RTL_P_names_overflowed]) > 0);
}

static atomic_bool readers_stop;

static void *reader(void *argument)
{
	uint64_t *found = argument;

	while (!atomic_load(&readers_stop))
		for (uint64_t i = 1; i <= 512; i++)
			*found += symbols_find(&symbols, i * 64) != 0;
	return NULL;
}

CASE(readers_run_beside_loading)
{
	uint64_t found[2] = {0};
	pthread_t threads[2];
	char name[16];

	atomic_store(&readers_stop, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &found[i]), 0);
	for (int round = 0; round < 4; round++)
		for (uint64_t i = 1; i <= 512; i++) {
			snprintf(name, sizeof(name), "k%d-%d.kd", (int)i, round % 2);
			symbols_add(&symbols, i * 64, name, strlen(name));
			if (i % 3 == 0)
				symbols_remove(&symbols, i * 64);
		}
	atomic_store(&readers_stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(symbols_find(&symbols, 3 * 64), 0);
	assert_int_not_equal(symbols_find(&symbols, 4 * 64), 0);
}

/* One address whose code comes and goes: the loader says which generation is loaded, 0: none. */
static _Atomic uint32_t generation_now;
static uint32_t generation_id[2001];
static _Atomic unsigned generation_checks;

static void *binder(void *argument)
{
	bool *is_wrong = argument;

	while (!atomic_load(&readers_stop)) {
		uint32_t before = atomic_load(&generation_now);
		uint32_t id = symbols_find(&symbols, 0x4000);

		if (!before || atomic_load(&generation_now) != before)
			continue;
		*is_wrong |= id != generation_id[before];
		atomic_fetch_add(&generation_checks, 1);
	}
	return NULL;
}

CASE(a_dispatch_is_bound_to_the_code_of_its_moment)
{
	const uint32_t last = sizeof(generation_id) / sizeof(generation_id[0]) - 1;
	bool is_wrong[2] = {false};
	pthread_t threads[2];
	char name[32];

	atomic_store(&readers_stop, false);
	atomic_store(&generation_now, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, binder, &is_wrong[i]), 0);
	for (uint32_t generation = 1; generation <= last; generation++) {
		unsigned checks = atomic_load(&generation_checks);

		snprintf(name, sizeof(name), "generation%u.kd", generation);
		symbols_add(&symbols, 0x4000, name, strlen(name));
		generation_id[generation] = symbols_find(&symbols, 0x4000);
		assert_int_not_equal(generation_id[generation], generation_id[generation - 1]);
		atomic_store(&generation_now, generation);
		/* Waits until another thread has looked at one generation in a hundred. */
		while (generation % 100 == 0 && atomic_load(&generation_checks) == checks)
			sched_yield();
		atomic_store(&generation_now, 0);
		symbols_remove(&symbols, 0x4000);
	}
	atomic_store(&readers_stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_false(is_wrong[0] || is_wrong[1]);
	assert_int_equal(symbols_find(&symbols, 0x4000), 0);
}
