/* SPDX-License-Identifier: MIT */
#pragma once
/* Texts of any length. Usable by every module; inline only. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* As vasprintf(). The caller frees the text. NULL: no memory. */
__attribute__((format(printf, 1, 0))) static inline char *format_newv(
	const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

/* The same as asprintf(). */
__attribute__((format(printf, 1, 2))) static inline char *format_new(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	text = format_newv(format, args);
	va_end(args);
	return text;
}

/* As strdup(); NULL for NULL, too. */
static inline char *text_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}
