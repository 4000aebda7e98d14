/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A folder of documents that a verb writes where the user named it: whole or not at all, never in
 * the place of files that it would not have written itself, and of those only with -f. Says what is
 * wrong on stderr for its verb (message.h). One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct output_folder {
	const char *name; /* borrowed */
	char *path;	  /* where it is written until it is whole; NULL: none */
	uint64_t bytes;
};

/*
 * May a folder of that name be written? 0: there is none, an empty one, or, where @is_forced, one
 * whose files all match one of @patterns (fnmatch's; NULL ends them). -EEXIST after a line that
 * says why not.
 */
int output_folder_check(const char *name, bool is_forced, const char *const *patterns);
/* 0, or -errno after a line. */
int output_folder_open(const char *name, struct output_folder *ret);
/* A file in it; NULL after a line. */
FILE *output_folder_create(struct output_folder *folder, const char *file);
/* Ends such a file. 0, or -EIO after a line. */
int output_folder_close(struct output_folder *folder, FILE *file, const char *name);
/* Gives the folder its name; what had it is removed. 0, or -errno after a line. */
int output_folder_publish(struct output_folder *folder);
/* Removes what has not been published. */
void output_folder_done(struct output_folder *folder);
