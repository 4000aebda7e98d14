// SPDX-License-Identifier: MIT
#include "cli/base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"

static void (*on_failure)(void);

void memory_on_failure(void (*last)(void))
{
	on_failure = last;
}

void memory_fail(void)
{
	fputs("rtl: out of memory\n", stderr);
	if (on_failure)
		on_failure();
	exit(CMD_BAD_INPUT);
}

static void *checked(void *memory)
{
	if (!memory)
		memory_fail();
	return memory;
}

void *xmalloc(size_t bytes)
{
	return checked(malloc(bytes));
}

void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count, size));
}

void *xreallocarray(void *array, size_t count, size_t size)
{
	return checked(reallocarray(array, count, size));
}

char *xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *xstrndup(const char *text, size_t bytes)
{
	return checked(strndup(text, bytes));
}

char *xasprintf(const char *format, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return checked(n < 0 ? NULL : text);
}

FILE *xmemstream(char **text)
{
	static size_t bytes; /* the texts end with a NUL, so no caller needs it */

	return checked(open_memstream(text, &bytes));
}

void xfclose(FILE *memstream)
{
	if (fclose(memstream))
		memory_fail();
}
