/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * index.db of a service: a copy of what the indexes of its tenants (.index-OWNER) say, so that
 * one file lists every session of the node. It is nobody's only record: what is missing here is
 * copied again. One thread.
 */
#include <sys/types.h>

#include "collectord/catalog/index.h"

struct node_index;

/* Opens or makes @folder/index.db, as index_open_or_renew(). What an older rtl wrote there stays.
 */
int node_index_open(const char *folder, const struct subuids *subuids, struct node_index **ret,
	struct index_state *ret_state);
struct node_index *node_index_close(struct node_index *node);

/* Its rows, to be read only. */
struct index *node_index_rows(struct node_index *node);

/*
 * Copies what the index of @owner says of @database, which is relative to the folder, and of what
 * was set aside of it; "": all that it says. The same again changes nothing. An index that is not
 * there, or says nothing, is none. -EBUSY: it, or the copy, is held; database_errno().
 */
int node_index_copy(struct node_index *node, uid_t owner, const char *database);

/* It was damaged, moved or taken away while it was open: it has to be opened anew. */
bool node_index_is_lost(const struct node_index *node);
