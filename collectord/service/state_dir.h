/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Prepares the directory of the store, raises the limit of descriptors, and becomes the user of the
 * service. Called by main before the threads start.
 */
#include <stdbool.h>
#include <sys/types.h>

/*
 * The soft limit of descriptors of the service: each shim takes a socket, a pidfd and a recorder;
 * room for CONNECTIONS_MAX of them and the databases. LimitNOFILE= of the unit is the same number.
 */
#define DESCRIPTORS_WANTED 16384u

struct place {
	const char *path;
	bool is_system; /* the default directory of the service, not one that the user named */
	bool is_shared; /* other users may pass through to their own directory, but not list it */
	uid_t uid;	/* the user of the service; (uid_t)-1: none */
	gid_t gid;
};

/*
 * Makes the directory and its parents if they are missing, and gives it to the user of the service
 * if there is one. *ret_is_theirs: that user owns it; a directory of another owner is not given
 * away. -EPERM: other users may write there; -ENOTDIR, -ELOOP: another kind of file is there; or an
 * error of mkdir(), open() or fchown().
 */
int place_prepare(const struct place *place, bool *ret_is_theirs);

/*
 * Raises the limit to as many descriptors as our own limits may use, if the hard limit allows it.
 */
void place_raise_descriptors(void);

/* Gives up root for good: supplementary groups, gid and uid. */
int place_become(uid_t uid, gid_t gid);
