// SPDX-License-Identifier: MIT
#include "cli/run/output/output_in_use.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/collector/client.h"
#include "cli/database/file.h"
#include "cli/run/job/signals.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/*
 * A collector whose run was ended keeps its file until the last rows are on the disk, which takes
 * some milliseconds, or seconds if other programs use the disk. A second rtl run waits for it that
 * long, and prints a message if the wait becomes noticeable.
 */
#define ENDING_MS 30000u
#define SAY_MS	  2000u
#define STEP_MS	  10
/* A collector that is stopped or hangs does not answer. */
#define ANSWER_MS 500

/*
 * Returns the process that has byte @at of the file beside @path locked; 0 if there is none, -1 if
 * it is in another pid namespace.
 */
static pid_t find_holder(const char *path, const char *suffix, off_t at)
{
	pid_t pid;

	return file_lock_find(path, suffix, at, &pid) > 0 ? pid : 0;
}

/*
 * Returns the process that has, or may have, the database @path open for writing; 0 if there is
 * none. A collector that has not opened it yet will do so soon, and one that has closed it is about
 * to end.
 */
static pid_t find_user(const char *path)
{
	pid_t user = find_holder(path, FILE_LOCK_SHM, FILE_LOCK_SHM_BYTE);

	return user ? user : find_holder(path, FILE_LOCK_COLLECTOR, 0);
}

/* True if a runner or a process has a session of @path open. */
static bool is_held_open(const Rtl__SessionsReply *reply, const char *path)
{
	for (size_t i = 0; i < reply->n_sessions; i++) {
		const Rtl__SessionInfo *info = reply->sessions[i];
		CLEANUP(free_p)
		char *database = msg_string(info->has_database, &info->database, PATH_MAX);

		if (database && !strcmp(database, path) && !info->closed &&
			(info->live_processes || !info->has_runners || info->runners))
			return true;
	}
	return false;
}

static bool ask_whether_held(const char *socket, const char *path)
{
	Rtl__SessionsRequest body = RTL__SESSIONS_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	struct client client = CLIENT_NONE;
	bool is_held = false;
	Rtl__Frame *reply;

	body.has_version_min = body.has_version_max = 1;
	body.version_min = PROTO_VERSION_MIN;
	body.version_max = PROTO_VERSION_MAX;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REQUEST;
	frame.sessions_request = &body;
	if (client_connect(&client, socket) == 0 && client_send(&client, &frame) == 0 &&
		client_receive(&client, ANSWER_MS, &reply) == 0)
		is_held = reply->body_case == RTL__FRAME__BODY_SESSIONS_REPLY &&
			  is_held_open(reply->sessions_reply, path);
	client_close(&client);
	return is_held;
}

/* True if one of this user's private collectors reports that @path is the file of a running job. */
static bool is_of_running_job(const char *path)
{
	char folder[PATH_MAX], socket[PATH_MAX + 256];
	bool is_running = false;
	struct dirent *entry;
	DIR *sockets;

	if (places_runtime_dir(false, folder) < 0)
		return false;
	sockets = opendir(folder);
	while (sockets && !is_running && (entry = readdir(sockets))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".sock") != 0)
			continue;
		snprintf(socket, sizeof(socket), "%s/%s", folder, entry->d_name);
		is_running = ask_whether_held(socket, path);
	}
	if (sockets)
		closedir(sockets);
	return is_running;
}

pid_t run_output_wait_unused(const char *path, const char *display)
{
	uint64_t start_ns = clock_monotonic_ns();
	pid_t user = find_user(path);
	bool has_said = false;

	if (!user || is_of_running_job(path))
		return user;
	while (user && !run_hold_pending()) {
		uint64_t ms = (clock_monotonic_ns() - start_ns) / 1000000u;

		if (ms >= ENDING_MS)
			break;
		if (ms >= SAY_MS && !has_said)
			say("%s: waiting for pid %d to let go of it", display, (int)user);
		has_said |= ms >= SAY_MS;
		(void)poll(NULL, 0, STEP_MS);
		user = find_user(path);
	}
	return user;
}
