/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Texts of strangers: made fit for a TEXT column, and demangled. Whatever the bytes are, the
 * result is valid UTF-8 without NUL, bounded, and takes bounded time. Store thread.
 */
#include <stddef.h>
#include <stdint.h>

/* Longest demangled name kept; a mangled one can unfold without end, and 85 bytes to 45 KiB. */
#define TEXT_DEMANGLED_BYTES_MAX 8192u
/* A caller of whose names so many took too much time has no more of them demangled. */
#define TEXT_STOPPED_MAX	 16u

/*
 * A fresh string: what is not UTF-8, and NUL, become U+FFFD; cut at @max bytes (of the result,
 * at a character). NULL: no memory.
 */
char *text_clean(const void *bytes, size_t count, size_t max);

/*
 * The name of the kernel whose symbol is @symbol: without .kd, demangled where it is mangled and
 * where that takes neither more than TEXT_DEMANGLED_BYTES_MAX nor more than a moment of the
 * thread's processor time, of which *@stopped counts the names: 16 of them are a third of a second.
 * A fresh string; NULL: no memory.
 */
char *text_demangle(const char *symbol, unsigned *stopped);
