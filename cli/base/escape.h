/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Texts of applications made fit for a terminal: they are hostile, and a table or a message never
 * carries their control bytes. Any thread.
 */
#include <stddef.h>
#include <stdint.h>

/* Bytes of the code point at @at, or 0: not UTF-8 (overlong, surrogate, cut, stray). */
size_t escape_decode(const unsigned char *at, size_t left, uint32_t *ret);

/*
 * @text fit for a terminal: C0, C1, DEL, bidi controls and bytes that are no UTF-8 as \n, \x1b,
 * \u202e. malloc'ed; NULL: no memory.
 */
char *render_escape(const char *text, size_t length);
/* The same, cut to @width terminal columns, the last one then an ellipsis. */
char *render_escape_cut(const char *text, size_t length, size_t width);
/* The same of an escaped text, with the ellipsis in its middle: both ends of a kernel's name tell
 * it from others. */
char *render_cut_middle(const char *text, size_t width);
/* What stands for what is cut: an ellipsis, or ~ where the locale's characters are not UTF-8. */
const char *render_ellipsis(void);
/* Terminal columns of an escaped text (one a code point). */
size_t render_width(const char *text);

/* Nothing is cut or left out from here on: --wide. */
void render_be_wide(void);
/* Columns of the terminal on @fd, or @otherwise; 0 after render_be_wide(). */
size_t render_terminal_width(int fd, size_t otherwise);
