/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Makes texts of applications safe for a terminal: they may be hostile, and their control bytes
 * must never reach a table or a message. Any thread.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>

/*
 * Returns the bytes of the code point at @at, or 0 if it is not UTF-8 (overlong, surrogate,
 * incomplete, stray).
 */
size_t escape_decode(const unsigned char *at, size_t left, uint32_t *ret);

/*
 * Returns @text safe for a terminal: C0, C1, DEL, bidi controls and bytes that are not UTF-8 become
 * \n, \x1b, \u202e. Allocated.
 */
char *render_escape(const char *text, size_t length);
/* Does the same without allocating: @safe has RENDER_ESCAPED_BYTES(@length). */
void render_escape_into(char *safe, const char *text, size_t length);
/* The longest escape of one byte is \x1b. */
#define RENDER_ESCAPED_BYTES(length) ((length)*4 + 11)
/*
 * Like render_escape(), cut off at @width terminal columns, of which the last is then an ellipsis.
 */
char *render_escape_cut(const char *text, size_t length, size_t width);
/*
 * Cuts an escaped text in the middle, with an ellipsis there, because both ends of a kernel's name
 * are needed to tell it from others.
 */
char *render_cut_middle(const char *text, size_t width);
/* The text that replaces what is cut off: an ellipsis, or ~ if the locale is not UTF-8. */
const char *render_ellipsis(void);
/* Terminal columns of an escaped text (one per code point). */
size_t render_width(const char *text);

/*
 * Writes a sentence and a newline, in lines of at most @width columns (0: one line), broken between
 * words. The first begins behind @indent columns that the caller has written, the others behind as
 * many blanks. Words, which may be names, are never cut.
 */
void render_put_sentence(FILE *to, const char *text, size_t indent, size_t width);
/* Likewise, as wide as the terminal that @to is, if it is one. */
void render_put_reading(FILE *to, const char *text, size_t indent);

/* From now on nothing is cut off or left out: --wide. */
void render_be_wide(void);
/* Columns of the terminal on @fd, or @otherwise; 0 after render_be_wide(). */
size_t render_terminal_width(int fd, size_t otherwise);
