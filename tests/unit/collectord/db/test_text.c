// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/rows/text.h"
#include "proto/base/limits.h"
#include "tests/lib/test.h"

#define BAD "\xef\xbf\xbd"

static void check_clean(const char *in, size_t count, const char *want)
{
	char *text = text_clean(in, count, 100);

	assert_string_equal(text, want);
	free(text);
}

TEST_CASE(only_utf8_without_nul_remains)
{
	check_clean("", 0, "");
	check_clean("plain", 5, "plain");
	check_clean(
		"\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\x80");
	check_clean("a\0b", 3, "a" BAD "b");
	/* Overlong, surrogate, beyond Unicode, cut off, alone. */
	check_clean("\xc0\x80", 2, BAD BAD);
	check_clean("\xed\xa0\x80", 3, BAD BAD BAD);
	check_clean("\xf4\x90\x80\x80", 4, BAD BAD BAD BAD);
	check_clean("\xe2\x82", 2, BAD BAD);
	check_clean("\x80", 1, BAD);
}

/* Eight bytes are looked at at a time, from anywhere to anywhere. */
TEST_CASE(every_place_is_looked_at)
{
	char in[24], want[32];

	for (size_t count = 1; count < sizeof(in); count++)
		for (size_t at = 0; at < count; at++)
			for (unsigned i = 0; i < 2; i++) {
				memset(in, 'x', sizeof(in));
				in[at] = i ? '\x80' : 0;
				snprintf(want, sizeof(want), "%.*s" BAD "%.*s", (int)at, in,
					(int)(count - at - 1), in + at + 1);
				check_clean(in, count, want);
			}
	/* No more of them than there is room for. */
	for (size_t max = 0; max < sizeof(in); max++) {
		char *text;

		memset(in, 'x', sizeof(in));
		text = text_clean(in, sizeof(in), max);
		assert_int_equal(strlen(text), max);
		free(text);
	}
}

TEST_CASE(it_is_cut_at_a_character)
{
	char *text = text_clean("ab\xe2\x82\xac", 5, 4);

	assert_string_equal(text, "ab");
	free(text);
	text = text_clean("ab\xff", 3, 4);
	assert_string_equal(text, "ab");
	free(text);
}

static void check_demangle(const char *symbol, const char *want)
{
	unsigned stopped = 0;
	char *name = text_demangle(symbol, &stopped);

	assert_int_equal(stopped, 0);
	assert_string_equal(name, want);
	free(name);
}

TEST_CASE(kernels_get_their_names)
{
	check_demangle("_Z8gemm_tnnIDF16_EvPT_i", "void gemm_tnn<_Float16>(_Float16*, int)");
	check_demangle("_Z8gemm_tnnIDF16_EvPT_i.kd", "void gemm_tnn<_Float16>(_Float16*, int)");
	check_demangle("_Z3addPfS_.kd", "add(float*, float*)");
	check_demangle("Cijk_Ailk_Bljk_SB_MT64x64.kd", "Cijk_Ailk_Bljk_SB_MT64x64");
	check_demangle("kernel@0xabc", "kernel@0xabc");
	check_demangle(".kd", ".kd");
	check_demangle("", "");
	check_demangle("_Z", "_Z");
	check_demangle("_Z9unclosed", "_Z9unclosed");
}

TEST_CASE(long_names_are_demangled_too)
{
	char *symbol = calloc(1, 8192), *name;
	unsigned stopped = 0;
	size_t at = 4;

	/* f(aa..., bb..., ...): four times libiberty's own limit of 1 KiB. */
	memcpy(symbol, "_Z1f", 4);
	for (char c = 'a'; c < 'a' + 20; c++) {
		memcpy(symbol + at, "200", 3);
		memset(symbol + at + 3, c, 200);
		at += 203;
	}
	memcpy(symbol + at, ".kd", 4);
	name = text_demangle(symbol, &stopped);
	assert_int_equal(stopped, 0);
	assert_int_equal(strncmp(name, "f(aaaa", 6), 0);
	assert_int_equal(strlen(name), 2 + 20 * 202 - 2 + 1);
	free(name);
	free(symbol);
}

/* Each substitution doubles what is printed: 2^40 types from some 200 bytes. */
TEST_CASE(a_bomb_stays_mangled)
{
	char symbol[1024] = "_Z1fI1AIiiE";
	unsigned stopped = 0;
	char *name;

	for (int i = 0; i < 40; i++) {
		char step[32];
		static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char id[8] = "S_";

		/* 1A<S, S> with S the type before it. */
		if (i > 0)
			snprintf(id, sizeof(id), i <= 36 ? "S%c_" : "S1%c_", digit[(i - 1) % 36]);
		snprintf(step, sizeof(step), "1BI%s%sE", id, id);
		strcat(symbol, step);
	}
	strcat(symbol, "EvT_.kd");
	name = text_demangle(symbol, &stopped);
	assert_true(strlen(name) <= TEXT_DEMANGLED_BYTES_MAX);
	free(name);
}

/* void f<int>(F...), where F is a function of the F before it, twice: "FviE", "FvFviES_E", and so
 * on. */
static void put_bomb(char *symbol, unsigned depth)
{
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	strcpy(symbol, "_Z1fIiEvDp");
	for (unsigned i = 0; i < depth; i++)
		strcat(symbol, "Fv");
	strcat(symbol, "FviE");
	for (unsigned i = 0; i < depth; i++) {
		char id[8]; /* S_ is f */

		snprintf(id, sizeof(id), i < 36 ? "S%c_E" : "S1%c_E", digit[i % 36]);
		strcat(symbol, id);
	}
}

/* libiberty looks for a pack in 2^39 types before it prints the first of them. */
TEST_CASE(a_name_that_is_all_work_and_no_output_stays_mangled)
{
	char symbol[512], *name;
	unsigned stopped = 0;

	put_bomb(symbol, 2);
	name = text_demangle(symbol, &stopped);
	assert_string_equal(name, "void f<int>((void (void (void (int), void (int)), "
				  "void (void (int), void (int))))...)");
	free(name);
	put_bomb(symbol, 39);
	assert_true(strlen(symbol) < 259);
	name = text_demangle(symbol, &stopped);
	assert_string_equal(name, symbol);
	assert_int_equal(stopped, 1);
	free(name);
	for (unsigned i = 0; i < 3 * TEXT_STOPPED_MAX; i++) {
		name = text_demangle(symbol, &stopped);
		assert_string_equal(name, symbol);
		free(name);
	}
	assert_int_equal(stopped, TEXT_STOPPED_MAX);
	name = text_demangle("_Z3addPfS_", &stopped);
	assert_string_equal(name, "_Z3addPfS_");
	free(name);
}

/* 45 KiB of output from 85 bytes, as from any name. */
TEST_CASE(a_name_that_unfolds_past_its_bound_stays_mangled)
{
	char symbol[512], *name;
	unsigned stopped = 0;

	put_bomb(symbol, 11);
	name = text_demangle(symbol, &stopped);
	assert_string_equal(name, symbol);
	assert_int_equal(stopped, 0);
	free(name);
}

/* Symbols that would need an enormous stack, and random bytes of every length. */
TEST_CASE(hostile_symbols_end)
{
	char *symbol = malloc(SYMBOL_BYTES_MAX + 1);
	uint32_t random = 1;
	unsigned stopped = 0;

	for (int pattern = 0; pattern < 6; pattern++) {
		static const char *const part[] = {"RT_", "I1aIiE", "P", "N1a", "S_", "IRT_E"};
		size_t bytes = strlen(part[pattern]), at = 4;

		memcpy(symbol, "_Z1f", 4);
		for (; at + bytes < SYMBOL_BYTES_MAX; at += bytes)
			memcpy(symbol + at, part[pattern], bytes);
		symbol[at] = 0;
		free(text_demangle(symbol, &stopped));
	}
	for (int round = 0; round < 2000; round++) {
		static const char letter[] = "_ZNISTEPRKO0123456789iafvLDpJcl";
		size_t n = 2 + random % 300;

		memcpy(symbol, "_Z", 2);
		for (size_t i = 2; i < n; i++) {
			random = random * 1664525u + 1013904223u;
			symbol[i] = letter[(random >> 8) % (sizeof(letter) - 1)];
		}
		symbol[n] = 0;
		free(text_demangle(symbol, &stopped));
	}
	free(symbol);
}
