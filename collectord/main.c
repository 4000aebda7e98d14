/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/service/lock_file.h"
#include "collectord/service/config.h"
#include "collectord/service/container.h"
#include "collectord/service/data_limit.h"
#include "collectord/service/links.h"
#include "collectord/service/listen.h"
#include "collectord/service/log.h"
#include "collectord/service/notify.h"
#include "collectord/service/state_dir.h"
#include "collectord/channel/seat.h"
#include "collectord/loop/server.h"
#include "collectord/store/store.h"
#include "collectord/supervisor/supervisor.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/user_namespace.h"
#include "proto/base/network_fs.h"
#include "proto/base/standard_fds.h"
#include "proto/base/subordinate_uids.h"
#include "proto/base/format.h"

static void explain_bind_failure(const char *path, int error, pid_t pid)
{
	CLEANUP(free_p) char *user_path = NULL;

	if (error == -EADDRINUSE && pid)
		log_error("another collector listens on %s: pid %d", path, pid);
	else if (error == -EADDRINUSE)
		log_error("another collector listens on %s", path);
	else if (error == -EEXIST)
		log_error(
			"cannot listen on %s: what lies there is not a dead socket of ours", path);
	else if (error == -ENOLCK)
		log_error("cannot listen on %s: %s.lock is no lock file of ours", path, path);
	else if (error == -ENOTUNIQ)
		log_error("cannot listen on %s: others may write there", path);
	else if (config_user_socket(&user_path) == 0 && strcmp(path, user_path) != 0)
		log_error("cannot listen on %s: %s; try --socket %s", path, strerror(-error),
			user_path);
	else
		log_error("cannot listen on %s: %s", path, strerror(-error));
}

static int open_sockets(const struct config *config, struct listen_sockets *sockets)
{
	pid_t pid = 0;
	int r = listen_take_passed(sockets);

	if (r < 0)
		log_error("LISTEN_FDS: %s", strerror(-r));
	if (r != 0)
		return r;
	r = listen_bind(sockets, config->socket_path, config->is_private, &pid);
	if (r < 0)
		explain_bind_failure(config->socket_path, r, pid);
	return r;
}

/*
 * Adds the abstract address for processes of the job that cannot access the directory of the
 * socket.
 */
static void open_to_others(const struct config *config, struct listen_sockets *sockets)
{
	if (config->private_session && sockets->path && sockets->path[0] == '/')
		listen_add_abstract(sockets, sockets->path);
}

/* Rejects a directory now. Otherwise each job would fail to open it and go unrecorded. */
static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	log_error(
		"cannot store in %s: it is a directory; --db-dir stores sessions below one", path);
	return -EISDIR;
}

/*
 * True if the service would go on as root although it has a user to become. A private collector of
 * root is meant to stay root, and root of a single-tenant namespace is that tenant.
 */
static bool stays_root(const struct config *config)
{
	return geteuid() == 0 && config->service_uid != (uid_t)-1 && !config->is_private &&
	       !config->is_single_tenant && !config->allow_root;
}

/*
 * Resolves the directory of @path for root; @what is the option. The code that opens the file
 * refuses a link as its last component. Returns 0, or an error that was logged.
 */
static int resolve(const struct config *config, const char *what, const char *path, char **ret)
{
	const char *name = strrchr(path, '/');
	CLEANUP(free_p) char *folder = strndup(path, (size_t)(name - path));
	CLEANUP(free_p) char *real = NULL;
	int r = folder ? links_resolve(folder, config->service_uid, &real) : -ENOMEM;

	if (r == -EPERM && real)
		log_error("%s %s: %s is a symbolic link of another user; name the place itself, or "
			  "give --allow-root",
			what, path, real);
	else if (r == 0 && !(*ret = format_new("%s%s", real, name)))
		r = -ENOMEM;
	if (r < 0 && !real)
		log_error("%s %s: %s", what, path, strerror(-r));
	return r;
}

static int resolve_places(struct config *config)
{
	CLEANUP(free_p) char *store = NULL;
	int r = 0;

	if (geteuid() != 0 || config->allow_root || config->private_session)
		return 0;
	if (config->socket_path[0] == '/')
		r = resolve(config, "--socket", config->socket_path, &config->socket_real);
	if (r == 0 && config->socket_real)
		config->socket_path = config->socket_real;
	if (r == 0 && !config->db_file)
		r = resolve(config, "--db-dir", config->store_path, &store);
	if (r < 0 || !store)
		return r;
	free(config->store_path);
	config->store_path = TAKE(store);
	return 0;
}

/*
 * A database that the user named may be in any directory; only our own directory is created here.
 */
static int prepare_store(const struct config *config)
{
	const struct place place = {
		.path = config->store_path,
		.is_system = !config->db_dir && config->is_service,
		.is_shared = config->is_service,
		.uid = config->service_uid,
		.gid = config->service_gid,
	};
	bool is_theirs = false;
	int r;

	if (config->db_file)
		return check_file(config->store_path);
	r = place_prepare(&place, &is_theirs);
	if (r < 0) {
		log_error("cannot store under %s: %s%s", config->store_path,
			r == -EPERM ? "others may write there" : strerror(-r),
			config->db_dir ? "" : "; give --db or --db-dir");
		return r;
	}
	r = is_theirs ? place_become(place.uid, place.gid) : 0;
	if (r == 0 && !is_theirs && stays_root(config)) {
		log_error("cannot store under %s: it is not the folder of user " CONFIG_USER
			  ", and the service would go on as root; chown it, or give --allow-root",
			config->store_path);
		return -EPERM;
	}
	if (r < 0)
		log_error("cannot become user " CONFIG_USER ": %s", strerror(-r));
	return r;
}

/*
 * Locks the whole store, or the part of one tenant, so that two collectors never write one
 * database.
 */
static int claim_store(const struct config *config, const struct seat *seat, struct claim *ret)
{
	CLEANUP(free_p) char *path = NULL;
	pid_t pid = 0;
	int r;

	if (seat)
		path = format_new("%s/.lock-%u", config->store_path, seat->owner);
	else
		path = format_new(config->db_file ? "%s-lock" : "%s/.lock", config->store_path);
	if (!path)
		return -ENOMEM;
	r = claim_wait(path, ret, &pid);
	if (r == -EADDRINUSE)
		log_error("another collector stores in %s: pid %d", config->store_path, (int)pid);
	else if (r < 0)
		log_error("cannot lock %s: %s", path,
			r == -ENOLCK ? "it is no lock file of ours" : strerror(-r));
	return r;
}

static int check_file_system(const struct config *config, const char *folder)
{
	const char *name = config->allow_network_fs ? NULL : network_fs_name(folder);

	if (!name)
		return 0;
	log_error("cannot store in %s: it lies on %s, where SQLite's locks do not hold; use a "
		  "local disk, or --allow-network-fs (RTL_ALLOW_NETWORK_FS=1)",
		config->store_path, name);
	return -ENOTSUP;
}

/*
 * Without the file each uid counts as its own owner. That is logged, because it is less than
 * promised.
 */
static void read_subuids(struct config *config)
{
	int r = config->is_service ? subuids_read(config->subuid_file, &config->subuids) : 0;

	if (r < 0)
		log_error("%s: %s: each uid in it has limits of its own", config->subuid_file,
			strerror(-r));
}

/* Each tenant of the service has an index of its own, in a file that the tenant cannot open. */
static int name_index(const struct config *config, const struct seat *seat, char **ret)
{
	if (seat)
		*ret = format_new("%s/.index-%u", config->store_path, seat->owner);
	else if (!config->db_file)
		*ret = format_new("%s/index.db", config->store_path);
	return *ret || config->db_file ? 0 : -ENOMEM;
}

static int start_store(const struct config *config, const struct seat *seat, const char *index_path,
	const char *folder, struct store **ret)
{
	struct store_config store_config = {0};
	struct store_limits limits = config_limits(config, folder);
	int r;

	store_config.seat = seat;
	store_config.index_path = index_path;
	store_config.folder = folder;
	store_config.keep_free_bytes = limits.keep_free_bytes;
	store_config.subuids = config->subuids;
	store_config.give_up_ms = config->give_up_ms;
	store_config.limits = limits.quota;
	if (seat)
		data_limit(store_config.limits.memory_bytes);
	r = store_new(&store_config, ret);
	if (r < 0)
		log_error("cannot store in %s: %s", config->store_path, store_explain(r));
	return r;
}

static void say_ready(const struct config *config, const struct listen_sockets *sockets)
{
	char status[1024];

	snprintf(status, sizeof(status), "listening on %s, storing in %s", sockets->path,
		config->store_path);
	log_info("%s", status);
	/*
	 * rtl run learns it from our answer to its hello. Its notify socket holds few messages of
	 * any user, so it may be full, and rtl run does not read it before that answer.
	 */
	if (!config->private_session)
		notify_ready(status);
}

/*
 * A private collector needs no check: the kernel tells it whether a peer is its own user or root.
 */
static int check_namespaces(const struct config *config)
{
	const char *what = namespace_hides_uids()   ? "user namespace, which hides the uids"
			   : namespace_hides_pids() ? "pid namespace, which hides the pids"
						    : NULL;

	if (!what || config->is_private || config->is_single_tenant)
		return 0;
	log_error("cannot serve all users from inside a %s of others; start it outside, or with "
		  "--single-tenant (or --private)",
		what);
	return -EPERM;
}

/*
 * A container has a store of its own in the folder of its number, where all uids are one tenant.
 * Its lock and its index lie in the store of the service like those of the other tenants.
 */
static int enter_container(const struct config *config, const struct seat *seat, struct config *ret)
{
	*ret = *config;
	if (!container_is_tenant(seat->owner))
		return 0;
	ret->subuids = subuids_of_one(seat->owner);
	ret->store_path = format_new("%s/%u", config->store_path, (unsigned)seat->owner);
	if (!ret->subuids || !ret->store_path)
		return -ENOMEM;
	if (mkdir(ret->store_path, 0711) < 0 ? errno != EEXIST : chmod(ret->store_path, 0711) < 0) {
		log_error("cannot store in %s: %s", ret->store_path, strerror(errno));
		return -EIO;
	}
	return 0;
}

/*
 * The folder of a container goes with the last session in it. This process still has the lock of
 * the tenant. The index writer then removes the index.
 */
static void leave_container(
	const struct config *own, const struct seat *seat, const char *index_path)
{
	int r;

	if (!container_is_tenant(seat->owner) || store_has_sessions(index_path))
		return;
	r = container_vacate(own->store_path);
	if (r < 0 && r != -ENOTEMPTY && r != -ENOENT)
		log_warning("cannot remove %s: %s", own->store_path, strerror(-r));
}

/* With @seat, serves one tenant of the service; with NULL, every peer that connects to @sockets. */
static int collect(
	const struct config *all, struct listen_sockets *sockets, const struct seat *seat)
{
	CLEANUP(free_p) char *folder = NULL;
	CLEANUP(free_p) char *index_path = NULL;
	const struct config *config = all;
	struct config own;
	CLEANUP(claim_release) struct claim claim = {.fd = -1};
	struct store *store = NULL;
	struct server *server = NULL;
	int exit_code = EXIT_FAILURE;
	int r;

	if (seat)
		config = &own;
	if (claim_store(all, seat, &claim) < 0 || name_index(all, seat, &index_path) < 0 ||
		(seat && enter_container(all, seat, &own) < 0))
		return EXIT_FAILURE;
	folder = config_folder(config);
	if (!folder || start_store(config, seat, index_path, folder, &store) < 0)
		return EXIT_FAILURE;
	r = server_new(config, sockets, store, &server);
	if (r == 0 && seat)
		r = server_sit(server, seat);
	if (r == 0) {
		if (!seat)
			say_ready(config, sockets);
		exit_code = server_run(server);
	} else {
		log_error("cannot start: %s", strerror(-r));
	}
	/* The store may still answer to owners that the server holds, so it is freed last. */
	server_free(server);
	store_free(store);
	if (seat)
		leave_container(config, seat, index_path);
	log_done();
	return exit_code;
}

/*
 * Runs a process for each tenant. A private collector and one with a single file run as one
 * process.
 */
static int supervise(const struct config *config, struct listen_sockets *sockets)
{
	CLEANUP(claim_release) struct claim claim = {.fd = -1};
	CLEANUP(close_p) int reserve = -1;

	if (claim_store(config, NULL, &claim) < 0)
		return EXIT_FAILURE;
	reserve = store_open_reserve(config->store_path);
	return supervisor_run(config, sockets, reserve, collect);
}

static int run(const struct config *config, struct listen_sockets *sockets)
{
	CLEANUP(free_p) char *folder = config_folder(config);

	if (!folder || prepare_store(config) < 0 || check_file_system(config, folder) < 0)
		return EXIT_FAILURE;
	if (config->is_service && !config->is_private && !config->db_file)
		return supervise(config, sockets);
	return collect(config, sockets, NULL);
}

/*
 * The collector of a job shares the processors of the job. SCHED_BATCH gives it its fair share, but
 * it does not preempt a thread that has just started to run. Another scheduling class was set on
 * purpose, so it is kept.
 */
static void make_way(void)
{
	const struct sched_param none = {0};

	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_BATCH, &none);
}

static void explain_no_place(const struct config *config, int error)
{
	if (config->db_file || config->db_dir)
		log_error("cannot tell where %s is: %s; give an absolute path",
			config->db_file ? config->db_file : config->db_dir, strerror(-error));
	else if (error == -ENOENT)
		log_error("no place to store: neither XDG_STATE_HOME nor HOME is set; give --db or "
			  "--db-dir");
	else
		log_error("no place to store: %s", strerror(-error));
}

int main(int argc, char **argv)
{
	struct listen_sockets sockets = {.lock.fd = -1};
	struct config config;
	int exit_code = EXIT_FAILURE;
	int r;

	standard_fds_hold();
	clock_find_shift();
	/* Frames go from one thread to the other: one heap for both grows least. */
	(void)mallopt(M_ARENA_MAX, 1);
	config_parse(&config, argc, argv);
	if (config.is_check)
		return EXIT_SUCCESS;
	if (config.private_session)
		make_way();
	log_init(config.is_verbose);
	(void)signal(SIGPIPE, SIG_IGN); /* a write to a peer that is gone then fails */
	(void)signal(SIGXFSZ, SIG_IGN); /* so does a write beyond `ulimit -f` */
	server_block_signals();		/* signals now wait for the loop, so that the end can
					 * clean up */
	umask(0077);
	place_raise_descriptors();
	r = config_resolve(&config);
	if (r == 0)
		read_subuids(&config);
	if (r < 0)
		explain_no_place(&config, r);
	else if (check_namespaces(&config) == 0 && resolve_places(&config) == 0 &&
		 open_sockets(&config, &sockets) >= 0) {
		open_to_others(&config, &sockets);
		exit_code = run(&config, &sockets);
	}
	listen_done(&sockets);
	config_done(&config);
	return exit_code;
}
