// SPDX-License-Identifier: MIT
#include "collectord/ingest/step_metrics.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN		 " \t\r\n,;"
/* Characters of a number: the other forms of strtod() (hexadecimal, inf, nan) are not metrics. */
#define DIGITS		 "+-.0123456789eE"
/* Longest number that is read: 17 significant digits, signs, an exponent, and room for zeroes. */
#define NUMBER_BYTES_MAX 64u

static locale_t locale;
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

static void locale_make(void)
{
	locale = newlocale(LC_NUMERIC_MASK, "C", NULL);
}

static bool number_read(const char *from, size_t bytes, double *ret)
{
	char text[NUMBER_BYTES_MAX + 1];
	char *end;

	if (!bytes || bytes > NUMBER_BYTES_MAX || strspn(from, DIGITS) < bytes)
		return false;
	pthread_once(&locale_once, locale_make);
	if (!locale)
		return false;
	memcpy(text, from, bytes);
	text[bytes] = '\0';
	*ret = strtod_l(text, &end, locale);
	return end != text && !*end && isfinite(*ret);
}

static bool word_read(const char *word, size_t bytes, struct metric *ret)
{
	const char *sign = memchr(word, '=', bytes);
	size_t name = sign ? (size_t)(sign - word) : 0;

	if (!name || name > METRIC_NAME_BYTES_MAX ||
		!number_read(sign + 1, bytes - name - 1, &ret->value))
		return false;
	memcpy(ret->name, word, name);
	ret->name[name] = '\0';
	return true;
}

bool metric_next(const char **text, struct metric *ret)
{
	for (;;) {
		const char *word = *text + strspn(*text, BETWEEN);
		size_t bytes = strcspn(word, BETWEEN);

		*text = word + bytes;
		if (!bytes)
			return false;
		if (word_read(word, bytes, ret))
			return true;
	}
}
