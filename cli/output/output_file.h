/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A document that a verb writes to a file which the user named: whole or not at all, and never over
 * something that is there without -f. Says what is wrong on stderr for its verb (message.h). One
 * thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct output_file {
	const char *name; /* borrowed; "-" is stdout */
	char *path;	  /* where it is written until it is whole; NULL: stdout */
	FILE *to;
};

/*
 * May a file of that name be written? 0: there is none, or it is stdout; 1: there is a regular file
 * to be replaced, *@ret; -EEXIST after a line that says why not.
 */
int output_file_check(const char *name, bool is_forced, struct stat *ret);
/* 0, or -errno after a line. */
int output_file_open(const char *name, struct output_file *ret);
/* Gives what was written its name; *@ret_bytes: its size, unknown (0) for stdout. 0, or -EIO after
 * a line. */
int output_file_publish(struct output_file *output, uint64_t *ret_bytes);
/* Removes what has not been published. */
void output_file_done(struct output_file *output);
