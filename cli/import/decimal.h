/* SPDX-License-Identifier: MIT */
#pragma once
/* Numbers of JSON as integers, without a double between: one of 53 bits loses ns of the time of
 * day. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * @text times 10^@places, rounded half up: of a time in us 3 places make ns. Takes a fraction and
 * an exponent. False: no number, or more than 62 bits.
 */
bool decimal_scaled(const char *text, size_t length, int places, int64_t *ret);
/* A whole number, also as 12.0 or 12e3. */
bool decimal_whole(const char *text, size_t length, int64_t *ret);
