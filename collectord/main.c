/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectord/config.h"
#include "collectord/listen.h"
#include "collectord/log.h"
#include "collectord/notify.h"
#include "collectord/place.h"
#include "collectord/server.h"
#include "collectord/store.h"
#include "proto/cleanup.h"

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

/* A file that the user named lies where the user wants; only our own directory is ours to make. */
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
	int r = 0;

	if (!config->db_file)
		r = place_prepare(&place, &is_theirs);
	if (r < 0) {
		log_error("cannot store under %s: %s", config->store_path,
			r == -EPERM ? "others may write there" : strerror(-r));
		return r;
	}
	r = is_theirs ? place_become(place.uid, place.gid) : 0;
	if (r < 0)
		log_error("cannot become user " CONFIG_USER ": %s", strerror(-r));
	return r;
}

static int start_store(const struct config *config, struct store **ret)
{
	CLEANUP(free_p) char *index_path = NULL;
	struct store_config store_config = {0};
	int r;

	if (!config->db_file && asprintf(&index_path, "%s/index.db", config->store_path) < 0) {
		index_path = NULL;
		return -ENOMEM;
	}
	store_config.index_path = index_path;
	r = store_new(&store_config, ret);
	if (r < 0)
		log_error("cannot start the store: %s", strerror(-r));
	return r;
}

static void say_ready(const struct config *config, const struct listen_sockets *sockets)
{
	char status[1024];

	snprintf(status, sizeof(status), "listening on %s, storing in %s", sockets->path,
		config->store_path);
	log_info("%s", status);
	notify_ready(status);
}

static int run(const struct config *config, struct listen_sockets *sockets)
{
	struct store *store = NULL;
	struct server *server = NULL;
	int exit_code = EXIT_FAILURE;
	int r;

	if (prepare_store(config) < 0 || start_store(config, &store) < 0)
		return EXIT_FAILURE;
	r = server_new(config, sockets, store, &server);
	if (r == 0) {
		say_ready(config, sockets);
		exit_code = server_run(server);
	} else {
		log_error("cannot start: %s", strerror(-r));
	}
	/* The store may still answer to owners that the server holds: it ends last. */
	server_free(server);
	store_free(store);
	return exit_code;
}

int main(int argc, char **argv)
{
	struct listen_sockets sockets = {.lock_fd = -1};
	struct config config;
	int exit_code = EXIT_FAILURE;
	int r;

	config_parse(&config, argc, argv);
	log_init(config.is_verbose);
	(void)signal(SIGPIPE, SIG_IGN); /* a peer that has gone is an error of its write */
	umask(0077);
	place_raise_descriptors();
	r = config_resolve(&config);
	if (r < 0)
		log_error("no place to store: %s; give --db or --db-dir", strerror(-r));
	else if (open_sockets(&config, &sockets) >= 0)
		exit_code = run(&config, &sockets);
	listen_done(&sockets);
	config_done(&config);
	return exit_code;
}
