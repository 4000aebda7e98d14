/* SPDX-License-Identifier: MIT */
#include "collectord/service/config.h"

#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collectord/service/configured.h"
#include "collectord/service/limit_options.h"
#include "collectord/service/log.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"
#include "proto/base/format.h"

/* The C library looks it up by name, so it may not be hidden. */
__attribute__((visibility("default"))) const char *argp_program_version = "collectord " RTL_VERSION;

enum option_key {
	KEY_SOCKET = 's',
	KEY_DB = 'o',
	KEY_VERBOSE = 'v',
	KEY_DB_DIR = 0x100,
	KEY_PRIVATE,
	KEY_PRIVATE_SESSION,
	KEY_KEEP_FREE,
	KEY_DISK_WAIT,
	KEY_NETWORK_FS,
	KEY_SINGLE_TENANT,
	KEY_SUBUID_FILE,
	KEY_ALLOW_ROOT,
	KEY_CHECK,
};

static const struct argp_option options[] = {
	{"socket", KEY_SOCKET, "PATH", 0,
		"listen there (default " CONFIG_SYSTEM_SOCKET "); unused when sockets are passed",
		0},
	{"db", KEY_DB, "FILE", 0, "store every session in this one file (one tenant)", 0},
	{"db-dir", KEY_DB_DIR, "DIR", 0, "store sessions under DIR, as DIR/<uid>/<session>.db", 0},
	{"private", KEY_PRIVATE, NULL, 0, "accept only this user and root", 0},
	{"private-session", KEY_PRIVATE_SESSION, "NAME", 0,
		"one session of that name for all processes; exit when it is closed", 0},
	{"keep-free", KEY_KEEP_FREE, "MIB", 0,
		"space to leave free on the disk: closed sessions are removed, else records wait "
		"(default: the service 1024, or a twentieth of a small disk; others 0)",
		0},
	{"disk-wait", KEY_DISK_WAIT, "SECONDS", 0,
		"time that the records of an ended process wait for a full or failing disk before "
		"they are counted as dropped (default 30)",
		0},
	{"allow-network-fs", KEY_NETWORK_FS, NULL, 0,
		"store on NFS, Lustre, GPFS, FUSE and their like all the same: SQLite's locks and "
		"memory need not work there",
		0},
	{"single-tenant", KEY_SINGLE_TENANT, NULL, 0,
		"serve every uid also in a user or pid namespace that hides the uids of others; a "
		"peer "
		"whose uid is hidden is refused",
		0},
	{"subuid-file", KEY_SUBUID_FILE, "FILE", 0,
		"the users that own the uids of containers, which share one user's limits "
		"(default " CONFIG_SUBUID_FILE ")",
		0},
	{"allow-root", KEY_ALLOW_ROOT, NULL, 0,
		"stay root if --db-dir is not the service user's, and follow symbolic links of "
		"other users",
		0},
	{"check", KEY_CHECK, NULL, 0,
		"only check these options and rtl.conf: status 0, or 2 and the reason", 0},
	{"verbose", KEY_VERBOSE, NULL, 0, "print more to stderr", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t take_keep_free(struct config *config, struct argp_state *state, const char *text)
{
	uint64_t mib;
	error_t r = limit_options_number(state, "keep-free", text, UINT32_MAX, &mib);

	if (r)
		return r;
	config->has_keep_free = true;
	config->keep_free_bytes = mib << 20;
	return 0;
}

static error_t take_disk_wait(struct config *config, struct argp_state *state, const char *text)
{
	uint64_t seconds;
	error_t r = limit_options_number(state, "disk-wait", text, 3600, &seconds);

	if (r)
		return r;
	if (!seconds)
		return configured_refuse(state, "disk-wait", "at least a second");
	config->give_up_ms = 1000u * (unsigned)seconds;
	return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct config *config = state->input;

	if ((key == KEY_SOCKET || key == KEY_DB || key == KEY_DB_DIR) && !*argument)
		return configured_refuse(state,
			key == KEY_SOCKET ? "socket"
			: key == KEY_DB	  ? "db"
					  : "db-dir",
			"the name is empty");
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &config->limits;
		return 0;
	case KEY_SOCKET:
		config->socket_path = argument;
		return 0;
	case KEY_DB:
		config->db_file = argument;
		return 0;
	case KEY_DB_DIR:
		config->db_dir = argument;
		return 0;
	case KEY_PRIVATE:
		config->is_private = true;
		return 0;
	case KEY_PRIVATE_SESSION:
		config->private_session = argument;
		config->is_private = true;
		return 0;
	case KEY_KEEP_FREE:
		return take_keep_free(config, state, argument);
	case KEY_DISK_WAIT:
		return take_disk_wait(config, state, argument);
	case KEY_NETWORK_FS:
		config->allow_network_fs = true;
		return 0;
	case KEY_ALLOW_ROOT:
		config->allow_root = true;
		return 0;
	case KEY_SINGLE_TENANT:
		config->is_single_tenant = true;
		return 0;
	case KEY_SUBUID_FILE:
		config->subuid_file = argument;
		return 0;
	case KEY_CHECK:
		config->is_check = true;
		return 0;
	case KEY_VERBOSE:
		config->is_verbose = true;
		return 0;
	case ARGP_KEY_END:
		if (config->db_file && config->db_dir)
			return configured_refuse(
				state, NULL, "--db and --db-dir exclude each other");
		if (config->private_session && !config->db_file)
			return configured_refuse(state, NULL, "--private-session needs --db FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&limit_options, 0, NULL, 0}, {NULL, 0, NULL, 0}};

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = children,
	.doc = "Collects what the rtl shims of this node see, one database a session.\v"
	       "Started as root with no other option it is the node's service: any user may "
	       "connect, sessions lie under " CONFIG_SYSTEM_STORE "/<uid>/. Started by a user it "
	       "stores under $XDG_STATE_HOME/rtl. What it is not told it takes from sections "
	       "service, "
	       "quota (--quota-...) and retention (--keep-...) of /etc/rtl/rtl.conf and "
	       "$XDG_CONFIG_HOME/rtl/rtl.conf.",
};

/* What the collector was started with: the options point into its words. */
static struct configured started;

void config_parse(struct config *config, int argc, char **argv)
{
	char why[CONFIG_FILE_WHY_BYTES];
	int r;

	*config = (struct config){.argc = argc,
		.argv = argv,
		.service_uid = (uid_t)-1,
		.service_gid = (gid_t)-1,
		.subuid_file = CONFIG_SUBUID_FILE,
		.limits = LIMIT_UNSET_ALL};
	argp_err_exit_status = 2;
	configured_done(&started);
	r = configured_read(options, argc, argv, &started, why);
	if (r < 0) {
		fprintf(stderr, "collectord: %s\n", why);
		/* Without memory nothing is wrong with what it was given. */
		exit(r == -ENOMEM ? 1 : argp_err_exit_status);
	}
	(void)configured_parse(&started, &argp, 0, config);
}

/* False, which was logged, if a file that was read as root cannot be read any more. */
static bool can_read_again(void)
{
	for (size_t i = 0; i < started.file.files; i++) {
		if (access(started.file.paths[i], R_OK) == 0 || errno == ENOENT)
			continue;
		log_error("%s: %s", started.file.paths[i], strerror(errno));
		return false;
	}
	return true;
}

int config_reload(const struct config *config, struct config *ret)
{
	CLEANUP(configured_done) struct configured configured = {0};
	struct config now = {.limits = LIMIT_UNSET_ALL};
	char why[CONFIG_FILE_WHY_BYTES];

	if (!can_read_again())
		return -EINVAL;
	if (configured_read(options, config->argc, config->argv, &configured, why) < 0) {
		log_error("%s", why);
		return -EINVAL;
	}
	if (configured_parse(&configured, &argp, ARGP_NO_EXIT | ARGP_NO_HELP, &now))
		return -EINVAL;
	*ret = *config;
	ret->limits = now.limits;
	ret->has_keep_free = now.has_keep_free;
	ret->keep_free_bytes = now.keep_free_bytes;
	return 0;
}

char *config_folder(const struct config *config)
{
	char *folder = strdup(config->store_path);
	char *slash = folder && config->db_file ? strrchr(folder, '/') : NULL;

	/* The path is absolute, so it has a slash. */
	if (slash)
		slash[slash == folder] = '\0';
	return folder;
}

/* A user's own collector may fill the disk of that user; the service is a guest of the node. */
static uint64_t keep_free(const struct config *config, const char *folder)
{
	struct statvfs fs;
	uint64_t part;

	if (config->has_keep_free)
		return config->keep_free_bytes;
	if (!config->is_service || statvfs(folder, &fs) < 0)
		return 0;
	part = (uint64_t)fs.f_blocks * fs.f_frsize / 20;
	return part < STORE_KEEP_FREE_BYTES ? part : STORE_KEEP_FREE_BYTES;
}

struct store_limits config_limits(const struct config *config, const char *folder)
{
	return (struct store_limits){
		.quota = limit_options_resolve(&config->limits, config->is_service, folder),
		.keep_free_bytes = keep_free(config, folder),
	};
}

/*
 * Finds the user of the service. Root becomes that user; a process of that user is the service. A
 * database that a user asks root to write (--db FILE, a private session) stays with root and needs
 * no lookup: a directory service may be slow, and a job waits for its collector.
 */
static void find_service_user(struct config *config)
{
	const struct passwd *user;

	if (config->db_file)
		return;
	user = getpwnam(CONFIG_USER);
	config->is_service = geteuid() == 0 || (user && user->pw_uid == geteuid());
	if (geteuid() == 0 && user) {
		config->service_uid = user->pw_uid;
		config->service_gid = user->pw_gid;
	}
}

/* Makes the path absolute as the user meant it, before the working directory changes. */
static int make_absolute(const char *path, char **ret)
{
	CLEANUP(free_p) char *directory = NULL;
	size_t bytes;

	if (path[0] == '/') {
		*ret = strdup(path);
	} else {
		directory = getcwd(NULL, 0);
		if (!directory)
			return -errno;
		*ret = format_new("%s/%s", directory, path);
	}
	if (!*ret)
		return -ENOMEM;
	for (bytes = strlen(*ret); bytes > 1 && (*ret)[bytes - 1] == '/'; bytes--)
		(*ret)[bytes - 1] = '\0';
	return 0;
}

static int user_store(char **ret)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && state[0] == '/')
		*ret = format_new("%s/rtl", state);
	else if (home && home[0] == '/')
		*ret = format_new("%s/.local/state/rtl", home);
	else
		return -ENOENT;
	return *ret ? 0 : -ENOMEM;
}

int config_resolve(struct config *config)
{
	const char *given = config->db_file ? config->db_file : config->db_dir;

	find_service_user(config);
	/*
	 * A collector that a user starts stores that user's data only; the service serves all
	 * users.
	 */
	if (geteuid() != 0 && !config->is_service)
		config->is_private = true;
	if (getenv("RTL_ALLOW_NETWORK_FS"))
		config->allow_network_fs = true;
	if (!config->socket_path)
		config->socket_path = CONFIG_SYSTEM_SOCKET;
	if (given)
		return make_absolute(given, &config->store_path);
	if (!config->is_service)
		return user_store(&config->store_path);
	config->store_path = strdup(CONFIG_SYSTEM_STORE);
	return config->store_path ? 0 : -ENOMEM;
}

int config_user_socket(char **ret_path)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (runtime && runtime[0] == '/' && !stat(runtime, &st) && st.st_uid == geteuid())
		*ret_path = format_new("%s/rtl/collectord.sock", runtime);
	else
		*ret_path = format_new("/tmp/rtl-%u/collectord.sock", geteuid());
	return *ret_path ? 0 : -ENOMEM;
}

void config_done(struct config *config)
{
	config->subuids = subuids_free(config->subuids);
	free(config->store_path);
	config->store_path = NULL;
	free(config->socket_real);
	config->socket_real = NULL;
}
