// SPDX-License-Identifier: MIT
/*
 * libamd_comgr.so.2 of the tests: the distribution's compiler library, which remembers on disk what
 * it has made.
 *
 * Each process that uses HIP 5.2 has its runtime compile the kernels that copy and fill memory,
 * which takes most of the processor time of a short test. Later versions of the library remember by
 * themselves (AMD_COMGR_CACHE); this one calls the distribution's for each action that it has not
 * seen, writes what came of it to a file that is named after all that went in, and hands that out
 * the next time. All other functions are the distribution's own. HIP opens the library by name: the
 * tests' programs look for it here first (CMakeLists.txt).
 */
#include <amd_comgr.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comgr_names.h"

#define EXPORT __attribute__((visibility("default")))

/* Each function that is not below jumps to the distribution's. */
#define FORWARD(name)                                                                              \
	__attribute__((used, visibility("hidden"))) void *real_##name;                             \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name                      \
		":\n\tjmp *real_" #name "(%rip)\n");
COMGR_NAMES(FORWARD)

static amd_comgr_status_t (*real_action)(amd_comgr_action_kind_t kind, amd_comgr_action_info_t info,
	amd_comgr_data_set_t input, amd_comgr_data_set_t result);

__attribute__((constructor)) static void find_real(void)
{
	/* By its path: by its name it would be this library. */
	void *real = dlopen(COMGR_REAL, RTLD_NOW | RTLD_LOCAL);

	if (!real) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
#define FIND(name) real_##name = dlsym(real, #name);
	COMGR_NAMES(FIND)
	*(void **)&real_action = dlsym(real, "amd_comgr_do_action");
}

/* A hash of all that an action depends on: 128 bits, of eight bytes a step, as some of it is
 * megabytes. */
struct key {
	uint64_t low, high;
};

static void mix(struct key *key, const void *data, size_t size)
{
	const char *bytes = data;

	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, size - i < sizeof(word) ? size - i : sizeof(word));
		key->low = (key->low ^ word) * UINT64_C(0x9fb21c651e98df25);
		key->low ^= key->low >> 32;
		key->high = (key->high + word) * UINT64_C(0xd6e8feb86659fd93);
		key->high ^= key->high >> 29;
	}
}

static void mix_text(struct key *key, const char *text)
{
	mix(key, text, strlen(text) + 1);
}

/* One datum of a set: its bytes and its name, which the caller frees. */
struct datum {
	char *bytes;
	char *name;
	size_t size;
};

static bool read_datum(
	amd_comgr_data_set_t set, amd_comgr_data_kind_t kind, size_t index, struct datum *datum)
{
	amd_comgr_data_t data;
	size_t name_size = 0;

	memset(datum, 0, sizeof(*datum));
	if (amd_comgr_action_data_get_data(set, kind, index, &data))
		return false;
	if (!amd_comgr_get_data_name(data, &name_size, NULL) &&
		!amd_comgr_get_data(data, &datum->size, NULL)) {
		datum->name = calloc(1, name_size + 1);
		datum->bytes = malloc(datum->size + 1);
	}
	if (!datum->name || !datum->bytes ||
		amd_comgr_get_data_name(data, &name_size, datum->name) ||
		amd_comgr_get_data(data, &datum->size, datum->bytes)) {
		free(datum->name);
		free(datum->bytes);
		datum->name = datum->bytes = NULL;
	}
	amd_comgr_release_data(data);
	return datum->name != NULL;
}

/* take(KIND, DATUM, ARG) of all that is in @set. */
static bool each_datum(amd_comgr_data_set_t set,
	bool (*take)(int kind, const struct datum *datum, void *arg), void *arg)
{
	for (int kind = AMD_COMGR_DATA_KIND_UNDEF + 1; kind <= AMD_COMGR_DATA_KIND_LAST; kind++) {
		size_t count = 0;

		/* Not each number is a kind. */
		if (amd_comgr_action_data_count(set, (amd_comgr_data_kind_t)kind, &count))
			continue;
		for (size_t i = 0; i < count; i++) {
			struct datum datum;
			bool is_taken;

			if (!read_datum(set, (amd_comgr_data_kind_t)kind, i, &datum))
				return false;
			is_taken = take(kind, &datum, arg);
			free(datum.name);
			free(datum.bytes);
			if (!is_taken)
				return false;
		}
	}
	return true;
}

static bool mix_datum(int kind, const struct datum *datum, void *arg)
{
	struct key *key = arg;

	/* The log of the action before changes nothing. */
	if (kind == AMD_COMGR_DATA_KIND_LOG)
		return true;
	mix(key, &kind, sizeof(kind));
	mix_text(key, datum->name);
	mix(key, &datum->size, sizeof(datum->size));
	mix(key, datum->bytes, datum->size);
	return true;
}

static bool make_key(amd_comgr_action_kind_t kind, amd_comgr_action_info_t info,
	amd_comgr_data_set_t input, struct key *key)
{
	amd_comgr_language_t language = AMD_COMGR_LANGUAGE_NONE;
	size_t size = 4096, count = 0;
	struct stat real;
	char text[4096];

	*key = (struct key){UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};
	/* Another version of the library makes something else. */
	if (stat(COMGR_REAL, &real))
		return false;
	mix(key, &real.st_size, sizeof(real.st_size));
	mix(key, &real.st_mtim, sizeof(real.st_mtim));
	mix(key, &kind, sizeof(kind));
	amd_comgr_action_info_get_language(info, &language);
	mix(key, &language, sizeof(language));
	if (amd_comgr_action_info_get_isa_name(info, &size, NULL) || size > sizeof(text) ||
		amd_comgr_action_info_get_isa_name(info, &size, text))
		return false;
	mix_text(key, text);
	if (amd_comgr_action_info_get_option_list_count(info, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		size = sizeof(text);
		if (amd_comgr_action_info_get_option_list_item(info, i, &size, NULL) ||
			size > sizeof(text) ||
			amd_comgr_action_info_get_option_list_item(info, i, &size, text))
			return false;
		mix_text(key, text);
	}
	return each_datum(input, mix_datum, key);
}

/* A file is data, each a header, its name and its bytes, and then a header of kind UNDEF. */
struct header {
	int32_t kind;
	uint32_t name_size;
	uint64_t size;
};

static bool write_datum(int kind, const struct datum *datum, void *arg)
{
	struct header header = {kind, (uint32_t)strlen(datum->name) + 1, datum->size};

	return fwrite(&header, sizeof(header), 1, arg) == 1 &&
	       fwrite(datum->name, header.name_size, 1, arg) == 1 &&
	       (!datum->size || fwrite(datum->bytes, datum->size, 1, arg) == 1);
}

static void remember(const char *path, amd_comgr_data_set_t result)
{
	const struct header end = {.kind = AMD_COMGR_DATA_KIND_UNDEF};
	char unfinished[] = COMGR_CACHE "/unfinished.XXXXXX";
	bool is_written;
	FILE *file;
	int fd;

	mkdir(COMGR_CACHE, 0755);
	fd = mkostemp(unfinished, O_CLOEXEC);
	if (fd < 0)
		return;
	file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		return;
	}
	is_written =
		each_datum(result, write_datum, file) && fwrite(&end, sizeof(end), 1, file) == 1;
	if (fclose(file) || !is_written || rename(unfinished, path))
		unlink(unfinished);
}

static bool add_datum(FILE *file, const struct header *header, amd_comgr_data_set_t into)
{
	char *name = malloc(header->name_size), *bytes = malloc(header->size + 1);
	amd_comgr_data_t data;
	bool is_added = false;

	if (name && bytes && fread(name, header->name_size, 1, file) == 1 &&
		(!header->size || fread(bytes, header->size, 1, file) == 1) &&
		!amd_comgr_create_data((amd_comgr_data_kind_t)header->kind, &data)) {
		/* A log may be empty, but nothing can be set to be: then it is an empty line. */
		bytes[header->size] = '\n';
		is_added = !amd_comgr_set_data(data, header->size + !header->size, bytes) &&
			   !amd_comgr_set_data_name(data, name) &&
			   !amd_comgr_data_set_add(into, data);
		amd_comgr_release_data(data);
	}
	free(name);
	free(bytes);
	return is_added;
}

/* Adds what @path holds to @into. Returns false if it is not there, or not whole. */
static bool recall(const char *path, amd_comgr_data_set_t into)
{
	struct header header;
	bool is_whole = false;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (fread(&header, sizeof(header), 1, file) == 1) {
		is_whole = header.kind == AMD_COMGR_DATA_KIND_UNDEF;
		if (is_whole || !add_datum(file, &header, into))
			break;
	}
	fclose(file);
	return is_whole;
}

/* A file that is not whole adds nothing to the caller's set. */
static bool is_whole(const char *path)
{
	amd_comgr_data_set_t set;
	bool is;

	if (amd_comgr_create_data_set(&set))
		return false;
	is = recall(path, set);
	amd_comgr_destroy_data_set(set);
	return is;
}

EXPORT amd_comgr_status_t amd_comgr_do_action(amd_comgr_action_kind_t kind,
	amd_comgr_action_info_t info, amd_comgr_data_set_t input, amd_comgr_data_set_t result)
{
	amd_comgr_status_t status;
	char path[4096];
	struct key key;

	if (!make_key(kind, info, input, &key))
		return real_action(kind, info, input, result);
	snprintf(
		path, sizeof(path), "%s/%016" PRIx64 "%016" PRIx64, COMGR_CACHE, key.low, key.high);
	if (is_whole(path) && recall(path, result))
		return AMD_COMGR_STATUS_SUCCESS;
	status = real_action(kind, info, input, result);
	if (!status)
		remember(path, result);
	return status;
}
