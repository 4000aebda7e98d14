/* SPDX-License-Identifier: MIT */
#pragma once
/* What a user says about how files are read, and the rank that a file's name tells. */
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

struct import_options {
	const regex_t *rank_from; /* its first group is the rank in a file's name; NULL: none */
	bool has_python;	  /* keep all frames of Python; else only those of nn.Module */
	bool is_empty_allowed;	  /* a file without a kernel is accepted */
};

/* A number out of this range is no rank, nor a number of ranks: it is not known then. */
static inline bool import_is_rank(int64_t number)
{
	return number >= 0 && number <= INT32_MAX;
}

/*
 * Returns the rank that a file's name tells, or TRACE_NO_NUMBER: what --rank-from finds, else
 * "rank3", "rank-3" or "rank_3" in the file's name, else in the last folder's.
 */
int64_t import_rank_of_name(const char *name, const regex_t *rank_from);
