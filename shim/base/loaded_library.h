/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which loaded file an address lies in. Cheaper than dladdr(), which looks for the nearest symbol, too:
 * OnLoad asks several times, on the program's own thread. Any thread; takes a lock of the loader's.
 */
#include <stdbool.h>
#include <stdint.h>

struct library {
	const char *path; /* the loader's; of the program itself, as it was called */
	uintptr_t start, end;
};

/* False: in none. */
bool library_find(const void *address, struct library *ret);

static inline bool library_has(const struct library *library, const void *address)
{
	return (uintptr_t)address >= library->start && (uintptr_t)address < library->end;
}
