/* SPDX-License-Identifier: MIT */
#include "shim/base/process/loaded_library.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

struct search {
	const void *address;
	struct library *found;
};

/* From the first loaded byte of the file to its last. */
static struct library extent_of(const struct dl_phdr_info *info)
{
	struct library library = {.path = info->dlpi_name, .start = UINTPTR_MAX};

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (start < library.start)
			library.start = start;
		if (start + segment->p_memsz > library.end)
			library.end = start + segment->p_memsz;
	}
	return library;
}

static int match_address(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const struct search *search = data;
	struct library library = extent_of(info);

	(void)bytes;
	if (!library_has(&library, search->address))
		return 0;
	if (!*library.path)
		library.path = program_invocation_name;
	*search->found = library;
	return 1;
}

bool library_find(const void *address, struct library *ret)
{
	struct search search = {address, ret};

	return dl_iterate_phdr(match_address, &search) == 1;
}

struct visitor {
	const char *stem;
	void (*visit)(const char *path, void *data);
	void *data;
};

static int match_name(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const struct visitor *visitor = data;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)bytes;
	name = name ? name + 1 : info->dlpi_name;
	if (!strncmp(name, visitor->stem, strlen(visitor->stem)))
		visitor->visit(info->dlpi_name, visitor->data);
	return 0;
}

void library_each(const char *stem, void (*visit)(const char *path, void *data), void *data)
{
	struct visitor visitor = {stem, visit, data};

	(void)dl_iterate_phdr(match_name, &visitor);
}
