/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/call_arguments.h"

#include <stdio.h>
#include <string.h>

/* Indexed by hipMemcpyKind. */
static const char *const copy_kinds[] = {
	"HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default"};

struct out {
	char *at;
};

static void put_raw(struct out *out, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(out->at, text, bytes);
	out->at += bytes;
}

static void put_number(struct out *out, uint64_t value)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	while (n)
		*out->at++ = digits[--n];
}

static void put_signed(struct out *out, int64_t value)
{
	if (value < 0)
		*out->at++ = '-';
	put_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void put_address(struct out *out, uint64_t value)
{
	char digits[16];
	unsigned n = 0;

	do
		digits[n++] = "0123456789abcdef"[value % 16];
	while (value /= 16);
	put_raw(out, "\"0x");
	while (n)
		*out->at++ = digits[--n];
	*out->at++ = '"';
}

/* A byte outside of ASCII is written as the Latin-1 code point, in names of symbols and files. */
static void put_text(struct out *out, const uint64_t *words)
{
	unsigned char text[HOST_TEXT_WORDS * sizeof(*words)];

	memcpy(text, words, sizeof(text));
	*out->at++ = '"';
	for (size_t i = 0; i < sizeof(text) && text[i]; i++) {
		if (text[i] < ' ' || text[i] > '~')
			out->at += sprintf(out->at, "\\u%04x", text[i]);
		else if (text[i] == '"' || text[i] == '\\')
			out->at += sprintf(out->at, "\\%c", text[i]);
		else
			*out->at++ = (char)text[i];
	}
	*out->at++ = '"';
}

static void put_copy_kind(struct out *out, uint64_t kind)
{
	if (kind >= sizeof(copy_kinds) / sizeof(copy_kinds[0])) {
		put_number(out, kind);
		return;
	}
	*out->at++ = '"';
	put_raw(out, copy_kinds[kind]);
	*out->at++ = '"';
}

static void put_float(struct out *out, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	/* JSON has neither infinities nor NaN. */
	if (value != value || value > 3e38f || value < -3e38f)
		put_raw(out, "null");
	else
		out->at += sprintf(out->at, "%.9g", (double)value);
}

/* Returns the number of words used. */
static unsigned put_argument(struct out *out, enum host_argument_form form, const uint64_t *words)
{
	switch (form) {
	case HOST_FORM_NUMBER:
		put_number(out, *words);
		return 1;
	case HOST_FORM_SIGNED:
		put_signed(out, (int32_t)*words);
		return 1;
	case HOST_FORM_ADDRESS:
		put_address(out, *words);
		return 1;
	case HOST_FORM_COPY:
		put_copy_kind(out, *words);
		return 1;
	case HOST_FORM_MS:
		put_float(out, *words);
		return 1;
	case HOST_FORM_TEXT:
		put_text(out, words);
		return HOST_TEXT_WORDS;
	case HOST_FORM_EXEC:
		put_address(out, *words);
		return 2;
	}
	return 1;
}

size_t arguments_json(
	const struct host_call_info *info, const uint64_t *words, char ret[ARGUMENTS_BYTES_MAX])
{
	struct out out = {ret};

	*out.at++ = '{';
	for (unsigned i = 0; i < info->count; i++) {
		put_raw(&out, i ? ",\"" : "\"");
		put_raw(&out, info->argument[i].name);
		put_raw(&out, "\":");
		words += put_argument(&out, info->argument[i].form, words);
	}
	*out.at++ = '}';
	*out.at = '\0';
	return (size_t)(out.at - ret);
}

void arguments_names(const struct host_call_info *info, char ret[ARGUMENTS_BYTES_MAX])
{
	struct out out = {ret};

	for (unsigned i = 0; i < info->count; i++) {
		put_raw(&out, i ? "," : "");
		put_raw(&out, info->argument[i].name);
	}
	*out.at = '\0';
}
