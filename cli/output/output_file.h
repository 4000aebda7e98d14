/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A document that a verb writes to a file which the user named. The file appears whole or not at
 * all, and replaces an existing file only with -f. Errors are printed on stderr for the verb
 * (message.h). Everything runs on one thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct output_file {
	const char *name; /* borrowed; "-" is stdout */
	char *path;	  /* temporary name until the file is whole; NULL: stdout */
	FILE *to;
};

/*
 * Checks whether a file of that name may be written. Returns 0 if there is none or it is stdout; 1
 * if there is a regular file to replace, described by *@ret; -EEXIST after printing why not.
 */
int output_file_check(const char *name, bool is_forced, struct stat *ret);
/*
 * Likewise for a document that is no recording, and so never replaces one, even with -f. Returns 0
 * if it may be written; -EEXIST after printing why not.
 */
int output_file_check_document(const char *name, bool is_forced);
/* Returns 0, or -errno after printing the reason. */
int output_file_open(const char *name, struct output_file *ret);
/* Gives the written file its name and sets *@ret_bytes to its size, or to 0 for stdout. Returns 0,
 * or -EIO after printing the reason. */
int output_file_publish(struct output_file *output, uint64_t *ret_bytes);
/* Removes a file that has not been published. */
void output_file_done(struct output_file *output);
