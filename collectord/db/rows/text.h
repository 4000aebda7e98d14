/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Cleans texts of peers for a TEXT column, and demangles them. Whatever the bytes are, the result
 * is valid UTF-8 without NUL, bounded, and takes bounded time. Store thread.
 */
#include <stddef.h>
#include <stdint.h>

/* Longest demangled name kept. Output is unbounded: a name of 85 bytes can become 45 KiB. */
#define TEXT_DEMANGLED_BYTES_MAX 8192u
/* After this many names of a caller took too long, its further names are not demangled. */
#define TEXT_STOPPED_MAX	 16u

/*
 * Returns a fresh string, in which NUL and bytes that are not UTF-8 become U+FFFD; cut at @max
 * bytes of the result, at a character. NULL: no memory.
 */
char *text_clean(const void *bytes, size_t count, size_t max);

/*
 * Returns the name of the kernel whose symbol is @symbol: without .kd, and demangled if it is
 * mangled and that takes neither more than TEXT_DEMANGLED_BYTES_MAX nor more than a moment of
 * processor time. *@stopped counts the names that take too long: 16 of them take a third of a
 * second. A fresh string; NULL: no memory.
 */
char *text_demangle(const char *symbol, unsigned *stopped);
