// SPDX-License-Identifier: MIT
/* fuzz.config: the text of rtl.conf, the system's and the user's, with a byte 1 between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/settings/config_file.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static char *copy(const char *text)
{
	char *ret = strdup(text);

	FUZZ_MUST(ret);
	return ret;
}

static int take(struct config_file *file, const char *path, const char *text)
{
	char why[CONFIG_FILE_WHY_BYTES] = "";
	size_t length = strlen(path);
	int r = config_file_take(file, copy(path), copy(text), why);

	/* A refusal names file and line, in one line. */
	FUZZ_MUST((r < 0) == (why[0] != 0));
	FUZZ_MUST(memchr(why, 0, sizeof(why)));
	if (r < 0)
		FUZZ_MUST(!strncmp(why, path, length) && why[length] == ':' &&
			  atoi(why + length + 1) > 0 && !strchr(why, '\n'));
	return r;
}

static void check(const struct config_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct config_setting *s = file->settings + i;
		const struct config_setting *before = i ? s - 1 : NULL;
		size_t length = strlen(s->value);
		char variable[64];
		bool flag;
		char why[CONFIG_FILE_WHY_BYTES];

		FUZZ_MUST(s->key[0] && length && !strpbrk(s->value, "\n"));
		FUZZ_MUST(!strchr(" \t\r", s->value[0]) && !strchr(" \t\r", s->value[length - 1]));
		FUZZ_MUST(!before || before->path != s->path || before->line < s->line);
		(void)config_setting_variable(s, variable);
		(void)config_setting_flag(s, &flag, why);
	}
}

/* Each key once, as it holds: written and read again it is the same. */
static void read_again(const struct config_file *file)
{
	CLEANUP(config_file_done) struct config_file again = {0};
	CLEANUP(free_p) char *text = NULL;
	size_t bytes = 0, n = 0;
	FILE *out = open_memstream(&text, &bytes);

	FUZZ_MUST(out);
	for (size_t i = 0; i < file->count; i++)
		if (!config_file_is_overridden(file, file->settings + i))
			fprintf(out, "[%s]\n%s = %s\n", file->settings[i].section,
				file->settings[i].key, file->settings[i].value);
	fclose(out);
	FUZZ_MUST(take(&again, "/again", text) == 0);
	for (size_t i = 0; i < file->count; i++) {
		const struct config_setting *s = file->settings + i, *t = again.settings + n;

		if (config_file_is_overridden(file, s))
			continue;
		FUZZ_MUST(n++ < again.count && s->section == t->section);
		FUZZ_MUST(!strcmp(s->key, t->key) && !strcmp(s->value, t->value));
	}
	FUZZ_MUST(n == again.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	CLEANUP(config_file_done) struct config_file file = {0};
	CLEANUP(free_p) char *text = strndup((const char *)data, bytes);
	char *user;

	FUZZ_MUST(text);
	user = strchr(text, 1);
	if (user)
		*user++ = 0;
	if (take(&file, "/system", text) < 0 || (user && take(&file, "/user", user) < 0))
		return 0;
	check(&file);
	read_again(&file);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	(void)seed;
	return LLVMFuzzerMutate(data, bytes, room);
}
