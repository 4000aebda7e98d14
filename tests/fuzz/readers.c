// SPDX-License-Identifier: MIT
/*
 * fuzz.readers: a whole file that is damaged, or a stranger's, and the verbs of rtl that read it.
 * The first byte says which file (files.h) of which schema, the second which verb, the third what
 * it writes; the rest what has become of the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/files.h"

#define WORDS_MAX 8

static char sql[] = "SELECT * FROM rocpd_op, top, busy", json[] = "--json", csv[] = "--csv";
static char page[160], whole[160];

static const struct {
	int (*run)(int argc, char **argv);
	const char *words[4];
	const char *forms; /* t: text, j: --json, c: --csv */
} verbs[] = {
	{cmd_summary, {"summary"}, "tjc"},
	{cmd_summary, {"summary", "--by", "category"}, "tjc"},
	{cmd_info, {"info"}, "tj"},
	{cmd_info, {"info", "--clocks"}, "tjc"},
	{cmd_info, {"info", "--counters"}, "t"},
	{cmd_diagnose, {"diagnose"}, "tj"},
	{cmd_timeline, {"timeline"}, "tjc"},
	{cmd_collectives, {"collectives"}, "tjc"},
	{cmd_outstanding, {"outstanding"}, "tjc"},
	{cmd_tree, {"tree"}, "tjc"},
	{cmd_tree, {"tree", "--by", "rank"}, "tj"},
	{cmd_query, {"query"}, "tjc"},
	{cmd_report, {"report", "-f", "--html", page}, "t"},
	{cmd_diff, {"diff", "--allow", "all", whole}, "tj"},
	{cmd_whatif, {"whatif"}, "tjc"},
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	files_init();
	snprintf(page, sizeof(page), "%s/page.html", fuzz_folder());
	snprintf(whole, sizeof(whole), "%s/whole.db", fuzz_folder());
	files_write_whole(FILE_CLOSED, whole);
	/* What verbs say is not looked at here. libFuzzer has its own way to the terminal. */
	FUZZ_MUST(freopen("/dev/null", "w", stdout));
	stderr = fopen("/dev/null", "w");
	FUZZ_MUST(stderr);
	return 0;
}

/* Reads the file at files_path(), which readers must not change. The caller frees it. */
static uint8_t *read_whole(size_t *ret)
{
	FILE *file = fopen(files_path(), "re");
	uint8_t *bytes = NULL;
	long count;

	FUZZ_MUST(file && fseek(file, 0, SEEK_END) == 0 && (count = ftell(file)) >= 0);
	rewind(file);
	bytes = malloc((size_t)count + 1);
	FUZZ_MUST(bytes && fread(bytes, 1, (size_t)count, file) == (size_t)count);
	fclose(file);
	*ret = (size_t)count;
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tape tape = {data, bytes};
	unsigned which = (unsigned)tape_number(&tape, 1);
	enum file_kind kind = which & 1 ? FILE_LEFT : FILE_CLOSED;
	size_t verb = (size_t)tape_number(&tape, 1) % (sizeof(verbs) / sizeof(*verbs));
	size_t form = (size_t)tape_number(&tape, 1) % strlen(verbs[verb].forms);
	char *words[WORDS_MAX] = {NULL};
	int n = 0, status;
	uint8_t *before, *after;
	size_t count, new_count;

	while (n < 4 && verbs[verb].words[n]) {
		words[n] = (char *)(uintptr_t)verbs[verb].words[n];
		n++;
	}
	if (verbs[verb].forms[form] != 't')
		words[n++] = verbs[verb].forms[form] == 'j' ? json : csv;
	words[n++] = (char *)(uintptr_t)files_path();
	if (verbs[verb].run == cmd_query)
		words[n++] = sql;
	files_write(kind, which / 2, &tape);
	before = read_whole(&count);
	status = verbs[verb].run(n, words);
	FUZZ_MUST(status >= CMD_OK && status <= CMD_REGRESSION && status != CMD_USAGE);
	after = read_whole(&new_count);
	FUZZ_MUST(count == new_count && !memcmp(before, after, count));
	free(before);
	free(after);
	files_remove();
	return 0;
}
