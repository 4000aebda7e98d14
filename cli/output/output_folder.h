/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A folder of documents that a verb writes where the user named it. The folder appears whole or not
 * at all. It never replaces files that the verb would not have written itself, and replaces those
 * only with -f. Errors are printed on stderr for the verb (message.h). Everything runs on one
 * thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct output_folder {
	const char *name; /* borrowed */
	char *path;	  /* temporary name until the folder is whole, else NULL */
	uint64_t bytes;
};

/*
 * Checks whether a folder of that name may be written. Returns 0 if there is none, if it is empty
 * or, with @is_forced, if all its files match one of @patterns (as fnmatch() takes them; NULL ends
 * the list). Returns -EEXIST after printing why not.
 */
int output_folder_check(const char *name, bool is_forced, const char *const *patterns);
/* Returns 0, or -errno after printing the reason. */
int output_folder_open(const char *name, struct output_folder *ret);
/* Creates a file in the folder. Returns NULL after printing the reason. */
FILE *output_folder_create(struct output_folder *folder, const char *file);
/* Closes such a file. Returns 0, or -EIO after printing the reason. */
int output_folder_close(struct output_folder *folder, FILE *file, const char *name);
/* Gives the folder its name and removes the folder that had it. Returns 0, or -errno after printing
 * the reason. */
int output_folder_publish(struct output_folder *folder);
/* Removes a folder that has not been published. */
void output_folder_done(struct output_folder *folder);
