/* SPDX-License-Identifier: MIT */
#include "proto/names/collectives.h"

#include <stddef.h>

enum class { MANAGES, MOVES };

struct collective {
	const char *name;
	enum class class;
};

#define COLLECTIVE_ROW(name, class) {#name, class},
static const struct collective collectives[] = {COLLECTIVES(COLLECTIVE_ROW)};

struct type {
	const char *name;
	uint32_t bytes;
};

#define TYPE_ROW(name, bytes) {#name, bytes},
static const struct type types[] = {COLLECTIVE_TYPES(TYPE_ROW)};

#define REDUCTION_ROW(name) #name,
static const char *const reductions[] = {COLLECTIVE_REDUCTIONS(REDUCTION_ROW)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *collective_name(uint32_t op)
{
	return op < COUNT(collectives) ? collectives[op].name : NULL;
}

int collective_moves(uint32_t op)
{
	return op < COUNT(collectives) && collectives[op].class == MOVES;
}

const char *collective_type_name(uint32_t type)
{
	return type < COUNT(types) ? types[type].name : NULL;
}

uint32_t collective_type_bytes(uint32_t type)
{
	return type < COUNT(types) ? types[type].bytes : 0;
}

const char *collective_reduction_name(uint32_t reduction)
{
	if (reduction == COLLECTIVE_NO_REDUCTION)
		return NULL;
	return reduction < COUNT(reductions) ? reductions[reduction] : "custom";
}
