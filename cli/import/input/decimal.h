/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads numbers of JSON as integers, without a double in between, whose 53 bits lose nanoseconds of
 * the time of day. Pure computation. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Computes @text times 10^@places, rounded half up: 3 places turn a time in us into ns. Accepts a
 * fraction and an exponent. Returns false if @text is not a number or needs more than 62 bits.
 */
bool decimal_scaled(const char *text, size_t length, int places, int64_t *ret);
/* Reads a whole number, which may be written as 12.0 or 12e3. */
bool decimal_whole(const char *text, size_t length, int64_t *ret);
