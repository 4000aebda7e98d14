/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What collectord was asked to do: options from one argp table, and the defaults that depend
 * on who runs it. Loop thread, before the loop; touches no file.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/store/store.h"

#define CONFIG_SYSTEM_SOCKET "/run/rtl.sock"
#define CONFIG_SYSTEM_STORE  "/var/lib/rtl"
#define CONFIG_USER	     "rtl"
#define CONFIG_SUBUID_FILE   "/etc/subuid"

struct subuids;

struct config {
	const char *socket_path;     /* NULL: CONFIG_SYSTEM_SOCKET */
	const char *db_file;	     /* --db: every session in this file */
	const char *db_dir;	     /* --db-dir */
	const char *private_session; /* --private-session: its name */
	bool is_private;	     /* own uid and root only */
	bool is_verbose;
	bool is_check; /* only whether all of this can be understood */
	bool allow_network_fs;
	bool allow_root; /* --allow-root */
	bool is_single_tenant; /* in a namespace that hides others, too */
	bool has_keep_free;
	uint64_t keep_free_bytes; /* --keep-free */
	unsigned give_up_ms;	  /* --disk-wait; 0: the default */
	const char *subuid_file;  /* --subuid-file */
	struct quota_limits limits; /* as far as they are given: limit_options.h */

	/* Worked out by config_resolve(). */
	bool is_service;   /* root, or the service's own user: sessions of every uid */
	char *store_path;  /* absolute: db_file or the directory */
	char *socket_real; /* socket_path without links, where root listens; NULL: as it is */
	uid_t service_uid; /* whom to become; (uid_t)-1: stay */
	gid_t service_gid;
	struct subuids *subuids; /* whom a uid counts as; NULL: as itself */
};

/* Exits with a usage message on bad arguments (argp), as --help and --version do. */
void config_parse(struct config *config, int argc, char **argv);

/* 0, -ENOMEM, or -ENOENT: no home to store under. */
int config_resolve(struct config *config);

/*
 * Where an unprivileged user may listen: $XDG_RUNTIME_DIR/rtl, else /tmp/rtl-<uid>. -ENOMEM.
 * The path is the caller's.
 */
int config_user_socket(char **ret_path);

void config_done(struct config *config);
