/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Memory for answers. None of them can go on without it, so these functions do not fail: if memory
 * is short they end the program with "rtl: out of memory" and CMD_BAD_INPUT, after removing what is
 * unfinished (output/unfinished.h). They are called like those of the C library, without the x.
 * Code that has to survive uses the C library's: rtl run and its collector while a job runs, and
 * what is shared with collectord. One thread.
 */
#include <stddef.h>
#include <stdio.h>

void *xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xreallocarray(void *array, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *text, size_t bytes) __attribute__((malloc, returns_nonnull));
/* Returns the text, which the caller frees. */
char *xasprintf(const char *format, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* Opens a stream whose text is in *@text after xfclose(); the caller frees it. */
FILE *xmemstream(char **text) __attribute__((returns_nonnull));
void xfclose(FILE *memstream);

/* Ends the program as the functions above do. */
_Noreturn void memory_fail(void);
/*
 * Calls @last before the program ends, for a caller that has something left to do then. It may
 * choose another exit status by calling _exit().
 */
void memory_on_failure(void (*last)(void));
