/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which loaded file contains an address. Cheaper than dladdr(), which also looks for the nearest
 * symbol: OnLoad asks several times, on the program's own thread. Any thread may call; takes a lock
 * of the dynamic loader.
 */
#include <stdbool.h>
#include <stdint.h>

struct library {
	/* Owned by the loader; for the program itself, the name it was started by. */
	const char *path;
	uintptr_t start, end;
};

/* Returns false if no loaded file contains @address. */
bool library_find(const void *address, struct library *ret);

/*
 * Calls @visit for each loaded file whose name begins with @stem ("libamdhip64"), whatever follows
 * and in whatever folder it lies. A lock of the loader is held: @visit may neither wait nor load a
 * library, and @path is valid during the call only.
 */
void library_each(const char *stem, void (*visit)(const char *path, void *data), void *data);

static inline bool library_has(const struct library *library, const void *address)
{
	return (uintptr_t)address >= library->start && (uintptr_t)address < library->end;
}
