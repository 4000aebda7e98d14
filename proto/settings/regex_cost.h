/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether a POSIX extended expression may be given to regcomp() and regexec(), which take what time
 * and memory it asks for: in a program that is not ours, or on a node that others use. Pure; any
 * thread.
 */

/* NULL: it may (regcomp() may still refuse it). Otherwise why not. */
const char *pattern_trouble(const char *text);
