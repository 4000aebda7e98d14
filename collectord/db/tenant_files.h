/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Where databases lie: safe names, safe files, the directory of a tenant. No peer can name a
 * path here: job names become file names only through storage_safe_name(). Store thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STORAGE_NAME_BYTES 128

/*
 * @name as a file name: [A-Za-z0-9._-], everything else '_', no leading dot, never empty, cut
 * to STORAGE_NAME_BYTES with its NUL.
 */
void storage_safe_name(const char *name, char ret[STORAGE_NAME_BYTES]);

/*
 * @path with its folder made absolute and free of symbolic links; the last part is kept as it
 * is. -ENOENT: no such folder; -EISDIR: no last part; -ENOMEM. To be freed.
 */
int storage_resolve(const char *path, char **ret);

/*
 * Makes an empty file that did not exist. @is_private: for its owner, ACLs apart; else what the
 * umask leaves. -EEXIST, or what open() says.
 */
int storage_create_file(const char *path, bool is_private);
mode_t storage_file_mode(bool is_private);

/* Whether @path is a name of the file @fd, which may be O_PATH: as long as that is open, no other file
 * is taken for it. */
bool storage_is_named(int fd, const char *path);

/*
 * Does @path name a file that we may continue: regular, ours, one link, no symbolic link?
 * 0; -ENOENT; -EMLINK, -EPERM, -ELOOP, -EMEDIUMTYPE.
 */
int storage_check_file(const char *path);

/*
 * DIR/UID, made if needed; its ACL lets @uid read what is in it and what will be (nobody else
 * but us). *ret_acl is false where the file system has no ACLs: the owner cannot read then.
 */
int storage_tenant_folder(const char *dir, uid_t uid, char **ret, bool *ret_acl);

/* Of @path and its WAL. */
off_t storage_database_bytes(const char *path);

/* When @path was written to last, CLOCK_REALTIME; 0: not known, or it has a WAL, which is newer. */
uint64_t storage_changed_ns(const char *path);
