/* SPDX-License-Identifier: MIT */
/*
 * A process that may read a file may lock it, and the store thread waits while it opens the file.
 * This limits the time that the thread waits for the files of one user, however many they are.
 */
#include <stdlib.h>

#include "collectord/store/internal.h"
#include "proto/base/clock.h"
#include "proto/base/subordinate_uids.h"

/* STORE/UID/NAME: returns the uid as which the owner of the folder counts. */
static uid_t find_user(const struct store *store, const char *path)
{
	const char *name = strrchr(path, '/'), *folder = name;

	while (folder && folder > path && folder[-1] != '/')
		folder--;
	return subuids_owner(store->subuids, folder ? (uid_t)strtoul(folder, NULL, 10) : 0);
}

static uint64_t *find_left(struct store *store, uid_t uid)
{
	struct patience_left *left = store->patience_left, *end = left + STORE_BUSY_USERS;
	struct patience_left *oldest = left;
	uint64_t now_ns = clock_monotonic_ns();

	for (; left < end && !(left->since_ns && left->uid == uid); left++)
		if (left->since_ns < oldest->since_ns)
			oldest = left;
	if (left == end)
		left = oldest;
	else if (now_ns - left->since_ns < STORE_BUSY_USER_NS)
		return &left->us;
	*left = (struct patience_left){uid, now_ns, STORE_BUSY_USER_MS * 1000u};
	return &left->us;
}

const struct database_patience *store_patience(struct store *store, const char *path)
{
	/* In a private collector all files belong to one user. */
	store->patience.left_us = store->index ? find_left(store, find_user(store, path)) : NULL;
	return &store->patience;
}
