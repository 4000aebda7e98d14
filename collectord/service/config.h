/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The configuration of collectord: options from one argp table, and the defaults that depend on the
 * user that runs it. Loop thread, before the loop; writes no file.
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
	int argc; /* of the command line */
	char **argv;
	const char *socket_path;     /* NULL: CONFIG_SYSTEM_SOCKET */
	const char *db_file;	     /* --db: the one file for all sessions */
	const char *db_dir;	     /* --db-dir */
	const char *private_session; /* --private-session: the name of the session */
	bool is_private;	     /* admits only its own uid and root */
	bool is_verbose;
	bool is_check; /* --check: only validates the configuration */
	bool allow_network_fs;
	bool allow_root;       /* --allow-root */
	bool is_single_tenant; /* --single-tenant: serves even in a namespace that hides other
				* uids */
	bool has_keep_free;
	uint64_t keep_free_bytes;   /* --keep-free */
	unsigned give_up_ms;	    /* --disk-wait; 0: the default */
	const char *subuid_file;    /* --subuid-file */
	struct quota_limits limits; /* the limits that were given: limit_options.h */

	/* Set by config_resolve(), except socket_real and subuids, which main.c sets. */
	bool is_service;   /* runs as root or as the user of the service: stores sessions of
			    * every uid */
	char *store_path;  /* absolute: db_file, or the directory */
	char *socket_real; /* socket_path without symbolic links, if root listens; NULL:
			    * socket_path as given */
	uid_t service_uid; /* the user to become; (uid_t)-1: none */
	gid_t service_gid;
	struct subuids *subuids; /* maps a subordinate uid to its owner; NULL: each uid is its
				  * own owner */
};

/* Exits with a usage message on bad arguments, and after --help and --version (argp). */
void config_parse(struct config *config, int argc, char **argv);

/*
 * Reads rtl.conf again: *@ret is @config with the limits that it has now, and shares its texts. The
 * command line stands over them as before. -EINVAL: a file is wrong, which was logged. @ret may be
 * @config itself.
 */
int config_reload(const struct config *config, struct config *ret);

/* Returns the folder of the databases, which the caller frees; NULL: no memory. */
char *config_folder(const struct config *config);

/* Returns the limits that hold for a store in @folder, given or by default. */
struct store_limits config_limits(const struct config *config, const char *folder);

/*
 * Returns 0, -ENOMEM, or -ENOENT if there is no home directory to store under. Other errors are
 * those of getcwd().
 */
int config_resolve(struct config *config);

/*
 * The socket path for an unprivileged user: $XDG_RUNTIME_DIR/rtl, else /tmp/rtl-<uid>. -ENOMEM. The
 * caller owns *@ret_path.
 */
int config_user_socket(char **ret_path);

void config_done(struct config *config);
