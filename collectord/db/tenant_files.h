/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Names and files of databases: safe names, safe files, the folder of a tenant. No peer can choose
 * a path: a job name becomes a file name only through storage_safe_name(). Store thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STORAGE_NAME_BYTES 128

/*
 * Turns @name into a file name: [A-Za-z0-9._-], everything else becomes '_', no leading dot, never
 * empty, cut to STORAGE_NAME_BYTES with its NUL.
 */
void storage_safe_name(const char *name, char ret[STORAGE_NAME_BYTES]);

/*
 * Makes the folder of @path absolute and free of symbolic links; the last part stays as it is.
 * -ENOENT: no such folder; -EISDIR: no last part; -ENOMEM. The caller frees *@ret.
 */
int storage_resolve(const char *path, char **ret);

/*
 * Makes an empty file that did not exist. @is_private: only its owner and ACLs give access; else
 * the umask decides. -EEXIST, or the error of open().
 */
int storage_create_file(const char *path, bool is_private);
mode_t storage_file_mode(bool is_private);

/* True if @path is a name of the file @fd, which may be O_PATH. While @fd is open, no other file
 * can be mistaken for it. */
bool storage_is_named(int fd, const char *path);

/*
 * Checks that @path is a file that we may continue: regular, ours, one link, no symbolic link. 0;
 * -ENOENT; -EMLINK, -EPERM, -ELOOP, -EMEDIUMTYPE.
 */
int storage_check_file(const char *path);

/*
 * Makes DIR/UID if needed. Its ACL lets only @uid and us read what is in it now and later. *ret_acl
 * is false if the file system has no ACLs: then the owner cannot read.
 */
int storage_tenant_folder(const char *dir, uid_t uid, char **ret, bool *ret_acl);

/* Bytes of @path and its WAL. */
off_t storage_database_bytes(const char *path);

/* When @path was written last, CLOCK_REALTIME. 0: not known, or it has a WAL, which is newer. */
uint64_t storage_changed_ns(const char *path);
