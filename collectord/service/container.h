/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The container of a peer, as the kernel reports it: the pod or the container that its cgroup
 * names. A name counts only where root puts it, at the top of the hierarchy: a user who owns a
 * cgroup below that may call it anything. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/base/container_tenant.h"

#define CONTAINER_NAME_BYTES  128u
#define CONTAINER_WORDS_BYTES (CONTAINER_NAME_BYTES + 32u)

struct container {
	char name[CONTAINER_NAME_BYTES]; /* "": none */
	bool is_known;		  /* false: the process is gone, or its files cannot be read */
	bool is_in_pid_namespace; /* one that is not ours */
};

/* Reads the container of the process that connected to @fd; that of the calling process counts as
 * none. */
struct container container_of_peer(int fd);

/*
 * Finds the name in the text of /proc/PID/cgroup. Returns false if it names no container.
 */
bool container_parse(const char *cgroup, char ret[CONTAINER_NAME_BYTES]);

/* Two names may have the same number: container_claim() tells. */
uid_t container_tenant(const char *name);

/*
 * What a log line calls @tenant: "uid 1000", "container NAME (3221225999)", or without the number's
 * parentheses while its @name is "". Returns @ret.
 */
const char *container_words(uid_t tenant, const char *name, char ret[CONTAINER_WORDS_BYTES]);

/*
 * Takes the folder of a tenant for the container @name: the first name is written there. Returns 0;
 * -EPERM: it belongs to another container; or another error.
 */
int container_claim(const char *folder, const char *name);

/*
 * Removes the folder of a container and the folders of its uids, if nothing is stored there. The
 * caller has the lock of the tenant, so that no worker makes them anew meanwhile; a process that
 * dies here leaves what the next call removes. Returns 0; -ENOTEMPTY: something is there, and all
 * stays; or another error.
 */
int container_vacate(const char *folder);

/* Reads which container the folder belongs to; "": none, or it cannot be read. */
void container_owner(const char *folder, char ret[CONTAINER_NAME_BYTES]);
