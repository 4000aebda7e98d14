// SPDX-License-Identifier: MIT
#include "cli/import/input/decimal.h"

#define VALUE_MAX    ((int64_t)1 << 62)
/* Beyond this exponent every number except 0 is out of range or rounds to 0. */
#define EXPONENT_MAX 400

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool read_exponent(const char *text, size_t length, int *ret)
{
	bool is_negative = length && text[0] == '-';
	size_t i = is_negative || (length && text[0] == '+');
	int value = 0;

	if (i == length)
		return false;
	for (; i < length; i++) {
		if (!is_digit(text[i]))
			return false;
		if (value < EXPONENT_MAX)
			value = value * 10 + text[i] - '0';
	}
	*ret = is_negative ? -value : value;
	return true;
}

static const char *find_exponent(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] == 'e' || text[i] == 'E')
			return text + i;
	return NULL;
}

/* @digit is at the @place-th place after the point, or before the point if @place is less than
 * 1. */
static bool add_digit(int digit, int place, int64_t *value, bool *rounds_up)
{
	if (place > 0) {
		if (place == 1)
			*rounds_up = digit >= 5;
		return true;
	}
	if (*value > (VALUE_MAX - digit) / 10)
		return false;
	*value = *value * 10 + digit;
	return true;
}

bool decimal_scaled(const char *text, size_t length, int places, int64_t *ret)
{
	bool is_negative = length && text[0] == '-', rounds_up = false;
	const char *exponent = find_exponent(text, length), *point = NULL;
	size_t end = exponent ? (size_t)(exponent - text) : length, digits = 0, before;
	int shift = 0, place;
	int64_t value = 0;

	if (exponent && !read_exponent(exponent + 1, length - end - 1, &shift))
		return false;
	for (size_t i = is_negative; i < end && !point; i++)
		if (text[i] == '.')
			point = text + i;
	before = (point ? (size_t)(point - text) : end) - is_negative;
	/* The place of the first digit. Place 0 is the last one before the scaled point. */
	place = 1 - (int)(before > EXPONENT_MAX ? EXPONENT_MAX : before) - shift - places;
	for (size_t i = is_negative; i < end; i++) {
		if (text[i] == '.' && text + i == point)
			continue;
		if (!is_digit(text[i]) || !add_digit(text[i] - '0', place++, &value, &rounds_up))
			return false;
		digits++;
	}
	for (; place <= 0 && value; place++)
		if (!add_digit(0, place, &value, &rounds_up))
			return false;
	if (!digits)
		return false;
	value += rounds_up;
	*ret = is_negative ? -value : value;
	return true;
}

bool decimal_whole(const char *text, size_t length, int64_t *ret)
{
	const char *end = text + length;

	/* 1.75e+18, as jq writes numbers with many digits. */
	if (find_exponent(text, length))
		return decimal_scaled(text, length, 0, ret);
	while (end > text && end[-1] == '0')
		end--;
	/* 12.0, as Python writes a float. */
	if (end > text && end[-1] == '.')
		length = (size_t)(end - 1 - text);
	for (size_t i = length && text[0] == '-'; i < length; i++)
		if (!is_digit(text[i]))
			return false;
	return decimal_scaled(text, length, 0, ret);
}
