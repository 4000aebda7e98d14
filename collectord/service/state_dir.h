/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The directory of the store, file descriptors, and becoming the service's own user. Called by
 * main before either thread runs.
 */
#include <stdbool.h>
#include <sys/types.h>

struct place {
	const char *path;
	bool is_system; /* the service's own, not one that the user named */
	bool is_shared; /* others may pass through to their own directory, not list it */
	uid_t uid;	/* the service's user; (uid_t)-1: none */
	gid_t gid;
};

/*
 * Makes the directory (and what is above it) where it is missing, for the service's user where
 * there is one. *ret_is_theirs: it is that user's; one that somebody else owns is not given
 * away. -EPERM: others may write there; -ENOTDIR, -ELOOP: something else lies there; or what
 * mkdir, open, fchown say.
 */
int place_prepare(const struct place *place, bool *ret_is_theirs);

/* As many file descriptors as the limits may use, where the hard limit allows it. */
void place_raise_descriptors(void);

/* Gives up root for good: supplementary groups, gid, uid. */
int place_become(uid_t uid, gid_t gid);
