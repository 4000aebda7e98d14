// SPDX-License-Identifier: MIT
/*
 * fuzz.texts: the pure functions that every stranger's text goes through, on its way into a
 * database and out of it.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/html.h"
#include "cli/output/table.h"
#include "collectord/ingest/step_metrics.h"
#include "collectord/db/rows/text.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Characters that change the order of the text, or are invisible. */
static const char *const hidden[] = {"\u200b", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c",
	"\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff", "\u061c", "\u00ad"};

static void be_plain(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		FUZZ_MUST(*at >= 0x20 && *at != 0x7f);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		FUZZ_MUST(!strstr(text, hidden[i]));
}

/* Puts the text into a page: no byte begins a tag or ends an attribute, and in a script it is a
 * JSON string. */
static void put_into_page(const char *text, size_t bytes)
{
	CLEANUP(free_p) char *copy = strndup(text, bytes);
	char *shown = NULL;
	size_t n;
	FILE *to = open_memstream(&shown, &n);
	json_t *json;

	FUZZ_MUST(copy && to);
	html_put_text(to, text, bytes);
	FUZZ_MUST(fflush(to) == 0);
	be_plain(shown);
	FUZZ_MUST(!strpbrk(shown, "<>\"'"));
	rewind(to);
	html_put_json(to, copy);
	FUZZ_MUST(fclose(to) == 0);
	FUZZ_MUST(!strpbrk(shown, "<>&"));
	json = json_loads(shown, JSON_DECODE_ANY, NULL);
	FUZZ_MUST(json_is_string(json));
	json_decref(json);
	free(shown);
}

/* Behind the title: cells of one text, which no spreadsheet computes and no quote ends early. */
static void be_cells(const char *csv)
{
	const char *at = strchr(csv, '\n') + 1;

	for (int cells = 0; cells < 2; cells++) {
		bool is_quoted = *at == '"';

		at += is_quoted;
		FUZZ_MUST(!*at || !strchr("=+-@\t\r", *at));
		FUZZ_MUST(strncmp(at, "\uff1d", 3) && strncmp(at, "\uff0b", 3));
		while (*at && (is_quoted || !strchr(",\n", *at))) {
			if (*at == '"' && is_quoted && *++at != '"')
				break;
			at++;
		}
		FUZZ_MUST(*at == (cells ? '\n' : ','));
		at++;
	}
	FUZZ_MUST(!*at);
}

static void clean_to_few(const uint8_t *data, size_t bytes)
{
	for (size_t most = 0; most <= 16; most++) {
		CLEANUP(free_p) char *clean = text_clean(data, bytes, most);

		FUZZ_MUST(clean && strlen(clean) <= most);
	}
}

static void store(const uint8_t *data, size_t bytes)
{
	CLEANUP(free_p) char *clean = text_clean(data, bytes, SYMBOL_BYTES_MAX);
	CLEANUP(free_p) char *name = NULL;
	const char *at = clean;
	struct metric metric;
	unsigned stopped = 0;
	json_t *json;

	FUZZ_MUST(clean && strlen(clean) <= SYMBOL_BYTES_MAX);
	clean_to_few(data, bytes);
	json = json_string(clean); /* checks that it is UTF-8 */
	FUZZ_MUST(json);
	json_decref(json);
	name = text_demangle(clean, &stopped);
	/* A symbol that is not demangled is kept as it is. */
	FUZZ_MUST(name && strlen(name) <= SYMBOL_BYTES_MAX);
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
	put_into_page(text, bytes);
	for (enum render_format format = RENDER_TABLE; format <= RENDER_CSV; format++) {
		struct render_value row[] = {{.type = RENDER_STRING, .text = text, .length = bytes},
			{.type = RENDER_STRING, .text = text, .length = bytes}};
		struct render *render = NULL;
		char *shown = NULL;
		size_t n;
		FILE *to = open_memstream(&shown, &n);

		FUZZ_MUST(to);
		render = render_new(to, format, columns, 2);
		render_set_width(render, 40);
		render_row(render, row);
		render_finish(render);
		render_free_p(&render);
		fclose(to);
		if (format == RENDER_JSON) {
			json_t *json = json_loadb(shown, n, JSON_ALLOW_NUL, NULL);

			FUZZ_MUST(json);
			json_decref(json);
		}
		if (format == RENDER_CSV)
			be_cells(shown);
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
