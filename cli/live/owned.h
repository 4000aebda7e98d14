/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The sessions and files that rtl rm and rtl keep are about: those of this user alone. A collector
 * that has the session in its index does what is wanted, because the files of the service are not
 * the user's to change; what no collector knows is a file of the user. One thread.
 */
#include <argp.h>
#include <stdbool.h>

#define OWNED_WHY_BYTES 512

/* What a user named. */
struct owned {
	const char *name; /* as the user wrote it */
	char *path;	  /* the absolute path of a file of this user; NULL: there is none */
};

void owned_done(struct owned *owned);

enum owned_answer {
	OWNED_DONE,    /* @why may tell more */
	OWNED_REFUSED, /* @why */
	OWNED_UNKNOWN, /* no collector knows it; it may be a file, see owned->path */
};

/*
 * Asks the collectors to do @verb (remove, keep, release) with the session or file @name. With
 * OWNED_UNKNOWN owned->path is set if there is such a file.
 */
enum owned_answer owned_ask(
	const char *name, const char *verb, struct owned *owned, char why[OWNED_WHY_BYTES]);

/*
 * Checks that owned->path is a database of rtl that belongs to this user, and is neither a link nor
 * a folder. False, with @why, if it is not.
 */
bool owned_check_file(const struct owned *owned, char why[OWNED_WHY_BYTES]);

/* Such a verb has one option without a letter or with one; a parser of argp, for owned_each(). */
#define OWNED_FLAG 0x100
error_t owned_parse(int key, char *arg, struct argp_state *state);

/*
 * Parses the options and calls @one for each name, with whether the option was given; it returns
 * false after printing why not. Returns the exit status of the verb.
 */
int owned_each(const struct argp *argp, int argc, char **argv,
	bool (*one)(const char *name, bool has_flag));
