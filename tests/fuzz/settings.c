// SPDX-License-Identifier: MIT
/*
 * fuzz.settings: what is parsed of options, variables and files of an operator or user, and what
 * the collector remembers as text.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/trace/category_file.h"
#include "collectord/service/config.h"
#include "collectord/loop/sessions/control_memory.h"
#include "proto/settings/selection.h"
#include "proto/base/cleanup.h"
#include "proto/settings/environment.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 16u

/* The linker puts it in front of libc's, so that bad arguments do not end the program. */
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
	int *ret_index, void *input);
error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
	int *ret_index, void *input);

error_t __wrap_argp_parse(
	const struct argp *argp, int argc, char **argv, unsigned flags, int *ret_index, void *input)
{
	return __real_argp_parse(argp, argc, argv, flags | ARGP_SILENT, ret_index, input);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void parse_config(char *text)
{
	static char name[] = "collectord";
	char *words[WORDS_MAX + 2] = {name}, *word;
	struct config config;
	int n = 1;

	while (n <= (int)WORDS_MAX && (word = strsep(&text, "\n")))
		words[n++] = word;
	config_parse(&config, n, words);
	if (config_resolve(&config) == 0)
		FUZZ_MUST(config.store_path[0] == '/');
	config_done(&config);
}

static void parse_choices(uint8_t key, const char *text)
{
	char why[CHOICE_WHY_BYTES] = "";
	struct choice choice = {0};
	struct choice_list list = {0};
	uint64_t ns = 0;

	if (choice_set(&choice, key % CHOICE_COUNT, text, why) == 0)
		(void)choice_check(&choice, why);
	FUZZ_MUST(memchr(why, 0, sizeof(why)));
	if (choice_parse_list(text, &list) == 0) {
		FUZZ_MUST(list.count > 0 && list.count <= CHOICE_RANGES_MAX);
		(void)choice_has(&list, key);
		for (uint32_t i = 0; i < list.count; i++)
			FUZZ_MUST(list.range[i].first <= list.range[i].last);
	}
	if (choice_parse_duration(text, &ns) == 0)
		FUZZ_MUST(ns > 0);
}

static void check_variables(const char *text)
{
	char why[VARIABLE_WHY_BYTES];

	for (const struct variable *v = variables; v->name; v++) {
		why[0] = 0;
		(void)variable_check(v->name, text, why);
		for (const unsigned char *at = (const unsigned char *)why; *at; at++)
			FUZZ_MUST(*at >= 0x20 && *at != 0x7f);
	}
}

static void read_categories(const char *text, size_t bytes)
{
	struct category_rules rules = {0};
	CLEANUP(close_p) int fd = memfd_create("rules", MFD_CLOEXEC);
	char path[64], error[QUERY_ERROR_BYTES];

	FUZZ_MUST(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (category_file_read(path, &rules, error) == 0) {
		CLEANUP(free_p) char *again = category_rules_text(&rules);

		FUZZ_MUST(again);
		FUZZ_MUST(rules.count <= CATEGORY_RULES_MAX);
	}
	category_rules_done(&rules);
}

static void read_controls(const char *text)
{
	struct control controls[CONTROLS_PER_SESSION_MAX];
	unsigned n = control_memory_read(text, controls);
	CLEANUP(free_p) char *again = control_memory_write(controls, n);

	FUZZ_MUST(n <= CONTROLS_PER_SESSION_MAX && again);
	FUZZ_MUST(control_memory_read(again, controls) == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	CLEANUP(free_p) char *text = NULL;

	if (!bytes)
		return -1;
	text = strndup((const char *)data + 1, bytes - 1);
	FUZZ_MUST(text);
	switch (data[0] % 5) {
	case 0:
		parse_config(text);
		break;
	case 1:
		parse_choices(data[0] / 5, text);
		break;
	case 2:
		check_variables(text);
		break;
	case 3:
		read_categories((const char *)data + 1, bytes - 1);
		break;
	default:
		read_controls(text);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	(void)seed;
	return LLVMFuzzerMutate(data, bytes, room);
}
