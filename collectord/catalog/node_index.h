/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * index.db of a service: a copy of the indexes of its tenants (.index-OWNER), so that one file
 * lists every session of the node. Whatever is missing here is copied again. One thread.
 */
#include <sys/types.h>

#include "collectord/catalog/index.h"

struct node_index;

/*
 * Opens or creates @folder/index.db, as index_open_or_renew(). Rows that an older rtl wrote there
 * stay.
 */
int node_index_open(const char *folder, const struct subuids *subuids, struct node_index **ret,
	struct index_state *ret_state);
struct node_index *node_index_close(struct node_index *node);

/* Returns the rows of the index; the caller only reads them. */
struct index *node_index_rows(struct node_index *node);

/* The folder as the rows name it: absolute, without symbolic links, with a slash at its end. */
const char *node_index_folder(const struct node_index *node);

/*
 * Copies the rows of @database, which is relative to the folder, and of files set aside from it,
 * from the index of @owner; "" copies all rows. Copying again changes nothing. A missing or empty
 * index is skipped. -EBUSY: that index or the copy is locked; database_errno().
 */
int node_index_copy(struct node_index *node, uid_t owner, const char *database);

/*
 * Removes the index of @owner, whose rows were copied, if it names no session any more: those that
 * were removed stay in the copy, of which the index is made anew when the tenant comes again. The
 * caller has the lock of the tenant. Returns 0, -ENOTEMPTY, or another error.
 */
int node_index_drop(struct node_index *node, uid_t owner);

/*
 * True if the file was damaged, moved or removed while it was open, so that it must be opened
 * again.
 */
bool node_index_is_lost(const struct node_index *node);
