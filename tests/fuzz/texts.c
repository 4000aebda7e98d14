// SPDX-License-Identifier: MIT
/*
 * fuzz.texts: the pure functions that every stranger's text goes through, on its way into a
 * database and out of it.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/render.h"
#include "collectord/metric.h"
#include "collectord/text.h"
#include "proto/cleanup.h"
#include "proto/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void be_plain(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		FUZZ_MUST(*at >= 0x20 && *at != 0x7f);
}

static void store(const uint8_t *data, size_t bytes)
{
	CLEANUP(free_p) char *clean = text_clean(data, bytes, SYMBOL_BYTES_MAX);
	CLEANUP(free_p) char *name = NULL;
	const char *at = clean;
	struct metric metric;
	json_t *json;

	FUZZ_MUST(clean && strlen(clean) <= SYMBOL_BYTES_MAX);
	json = json_string(clean); /* checks that it is UTF-8 */
	FUZZ_MUST(json);
	json_decref(json);
	name = text_demangle(clean);
	FUZZ_MUST(name && strlen(name) <= TEXT_DEMANGLED_BYTES_MAX);
	json = json_string(name);
	FUZZ_MUST(json);
	json_decref(json);
	while (metric_next(&at, &metric))
		FUZZ_MUST(metric.value - metric.value == 0 && *metric.name);
}

static void show(const char *text, size_t bytes)
{
	static const struct render_column columns[] = {
		{"a", "a", RENDER_TEXT}, {"b", "b", RENDER_ANY}};
	CLEANUP(free_p) char *safe = render_escape(text, bytes);
	CLEANUP(free_p) char *cut = render_escape_cut(text, bytes, 20);

	FUZZ_MUST(safe && cut && render_width(cut) <= 20);
	be_plain(safe);
	be_plain(cut);
	for (enum render_format format = RENDER_TABLE; format <= RENDER_CSV; format++) {
		struct render_value row[] = {{.type = RENDER_STRING, .text = text, .length = bytes},
			{.type = RENDER_STRING, .text = text, .length = bytes}};
		struct render *render = NULL;
		char *shown = NULL;
		size_t n;
		FILE *to = open_memstream(&shown, &n);

		FUZZ_MUST(to && render_new(to, format, columns, 2, &render) == 0);
		render_set_width(render, 40);
		FUZZ_MUST(render_row(render, row) == 0);
		render_finish(render);
		render_free_p(&render);
		fclose(to);
		if (format == RENDER_JSON) {
			json_t *json = json_loadb(shown, n, JSON_ALLOW_NUL, NULL);

			FUZZ_MUST(json);
			json_decref(json);
		}
		free(shown);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes > SYMBOL_BYTES_MAX)
		return -1;
	store(data, bytes);
	show((const char *)data, bytes);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	(void)seed;
	return LLVMFuzzerMutate(data, bytes, room);
}
