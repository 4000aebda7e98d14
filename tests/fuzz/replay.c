// SPDX-License-Identifier: MIT
/*
 * Stands in for libFuzzer in builds without it: `fuzz_NAME [OPTION...] PATH...` feeds the target each
 * input in turn, a file or each file of a folder by name. Options are the target's.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "tests/fuzz/fuzz.h"

/* As libFuzzer is told: longer inputs are cut. */
#define INPUT_BYTES_MAX 65536u
/* An input that is not done by then hangs; what it costs is checked in inputs.c. */
#define INPUT_SECONDS_MAX 120u

#pragma weak LLVMFuzzerInitialize

static unsigned count;

/* Only a search makes new inputs. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t room)
{
	(void)data;
	(void)room;
	return bytes;
}

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "r");
	static uint8_t whole[INPUT_BYTES_MAX];
	CLEANUP(free_p) uint8_t *input = NULL; /* of its own length: a read behind it is seen */
	size_t bytes;

	if (!file) {
		perror(path);
		exit(1);
	}
	bytes = fread(whole, 1, sizeof(whole), file);
	fclose(file);
	input = malloc(bytes ? bytes : 1);
	if (!input)
		abort();
	memcpy(input, whole, bytes);
	/* The last one is the input that ended the process. */
	fprintf(stderr, "%s\n", path);
	alarm(INPUT_SECONDS_MAX);
	LLVMFuzzerTestOneInput(input, bytes);
	alarm(0);
	count++;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay(const char *path)
{
	struct dirent **entries;
	struct stat st;
	char file[4096];
	int n;

	if (stat(path, &st) < 0) {
		perror(path);
		exit(1);
	}
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path);
		return;
	}
	n = scandir(path, &entries, is_input, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		replay_file(file);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-')
			replay(argv[i]);
	fprintf(stderr, "%u inputs\n", count);
	return count ? 0 : 1;
}
