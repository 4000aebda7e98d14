/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which loaded file an address lies in. Cheaper than dladdr(), which looks for the nearest symbol,
 * too: OnLoad asks several times, on the program's own thread. Any thread; takes a lock of the
 * loader's.
 */
#include <stdbool.h>
#include <stdint.h>

struct library {
	const char *path; /* the loader's; of the program itself, as it was called */
	uintptr_t start, end;
};

/* False: in none. */
bool library_find(const void *address, struct library *ret);

/*
 * Calls @visit for each loaded file whose name begins with @stem ("libamdhip64"), whatever comes
 * after it and wherever it lies. A lock of the loader's is held: @visit may neither wait nor load
 * anything, and @path is valid during the call only.
 */
void library_each(const char *stem, void (*visit)(const char *path, void *data), void *data);

static inline bool library_has(const struct library *library, const void *address)
{
	return (uintptr_t)address >= library->start && (uintptr_t)address < library->end;
}
