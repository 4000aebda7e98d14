/* SPDX-License-Identifier: MIT */
/* Requests of the loop thread: copies their data and queues commands; never touches a disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/store/thread/thread.h"
#include "collectord/db/rows/text.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

/* Returns a copy that is fit for a column; *@ok turns false if there is no memory. */
static char *clean(const char *text, size_t max, bool *ok)
{
	char *copy = text ? text_clean(text, strlen(text), max) : NULL;

	*ok = *ok && (!text || copy);
	return copy;
}

static char *copy_path(const char *path, bool *ok)
{
	char *copy = path ? strdup(path) : NULL;

	*ok = *ok && (!path || copy);
	return copy;
}

int store_session_new(struct store *store, const struct store_session_params *params, void *owner,
	struct store_session **ret)
{
	struct store_session *session;
	bool ok = true;

	if (!params->name || !params->name[0] || !params->path == !params->dir)
		return -EINVAL;
	session = calloc(1, sizeof(*session));
	if (!session)
		return -ENOMEM;
	session->store = store;
	session->owner = owner;
	session->uid = params->uid;
	session->create = params->create;
	session->name = clean(params->name, LABEL_BYTES_MAX, &ok);
	session->job = clean(params->job, LABEL_BYTES_MAX, &ok);
	session->command = clean(params->command, COMMAND_BYTES_MAX, &ok);
	session->host = clean(params->host, LABEL_BYTES_MAX, &ok);
	session->path = copy_path(params->path, &ok);
	session->dir = copy_path(params->dir, &ok);
	if (!ok) {
		destroy_session(session);
		return -ENOMEM;
	}
	*ret = session;
	return 0;
}

int store_session_open(struct store *store, const struct store_session_params *params, void *owner,
	struct store_session **ret)
{
	struct store_session *session;
	int r = store_session_new(store, params, owner, &session);

	if (r < 0)
		return r;
	r = store_post(store, command_new(COMMAND_SESSION_OPEN, session, NULL));
	if (r < 0)
		destroy_session(session);
	else
		*ret = session;
	return r;
}

int store_session_command(struct store_session *session, const char *text)
{
	struct command *command = command_new(COMMAND_SESSION_COMMAND, session, NULL);
	bool ok = true;

	if (!command)
		return -ENOMEM;
	command->text = clean(text, COMMAND_BYTES_MAX, &ok);
	if (!ok) {
		command_free(command);
		return -ENOMEM;
	}
	return store_post(session->store, command);
}

static int post_text(struct store_session *session, enum command_kind kind, const char *text)
{
	struct command *command = command_new(kind, session, NULL);

	if (!command)
		return -ENOMEM;
	command->text = strdup(text);
	if (!command->text) {
		command_free(command);
		return -ENOMEM;
	}
	return store_post(session->store, command);
}

int store_session_controls(struct store_session *session, const char *text)
{
	return post_text(session, COMMAND_SESSION_CONTROLS, text);
}

int store_session_categories(struct store_session *session, const char *text)
{
	return post_text(session, COMMAND_SESSION_CATEGORIES, text);
}

int store_session_unseen(struct store_session *session, unsigned processes, uid_t uid)
{
	struct command *command = command_new(COMMAND_SESSION_UNSEEN, session, NULL);

	if (command) {
		command->count = processes;
		command->uid = uid;
	}
	return store_post(session->store, command);
}

static int post_close(struct store_session *session, int exit_status, bool was_unwatched)
{
	struct command *command = command_new(COMMAND_SESSION_CLOSE, session, NULL);

	if (command) {
		command->exit_status = exit_status;
		command->was_unwatched = was_unwatched;
	}
	return store_post(session->store, command);
}

int store_session_close(struct store_session *session, int exit_status)
{
	return post_close(session, exit_status, false);
}

int store_session_close_unwatched(struct store_session *session, int exit_status)
{
	return post_close(session, exit_status, true);
}

struct store_session *store_session_free(struct store_session *session)
{
	/* Without memory it stays until store_free(). */
	if (session)
		(void)store_post(session->store, command_new(COMMAND_SESSION_FREE, session, NULL));
	return NULL;
}

int store_process_open(struct store_session *session, uint8_t *hello, size_t bytes, uid_t uid,
	pid_t pid, uint64_t start_time, void *owner, struct store_process **ret)
{
	CLEANUP(free_p) uint8_t *owned = hello;
	struct store_process *process = calloc(1, sizeof(*process));
	struct command *command;

	if (!process)
		return -ENOMEM;
	process->session = session;
	process->owner = owner;
	process->in_flight.memfd = -1;
	command = command_new(COMMAND_PROCESS_OPEN, session, process);
	if (!command) {
		free(process);
		return -ENOMEM;
	}
	command->bytes = TAKE(owned);
	command->count = bytes;
	command->uid = uid;
	command->pid = pid;
	command->start_time = start_time;
	*ret = process;
	return store_post(session->store, command);
}

int store_process_reopen(struct store_process *process)
{
	return store_post(process->session->store,
		command_new(COMMAND_PROCESS_REOPEN, process->session, process));
}

int store_process_frames(struct store_process *process, uint8_t *frames, size_t bytes)
{
	struct store *store = process->session->store;
	struct command *command = command_new(COMMAND_PROCESS_FRAMES, process->session, process);
	size_t all;
	bool is_full;

	if (!command) {
		free(frames);
		return -ENOMEM;
	}
	command->bytes = frames;
	command->count = bytes;
	all = command_bytes(command);
	pthread_mutex_lock(&store->lock);
	process->queued_bytes += all;
	store->queued_bytes += all;
	is_full = process->queued_bytes >= STORE_QUEUE_PROCESS_BYTES_MAX ||
		  store->queued_bytes >= STORE_QUEUE_BYTES_MAX;
	if (is_full && !process->is_stalled) {
		process->is_stalled = true;
		store->stalled++;
	}
	command_list_add(&store->queue, command);
	store->unread_bytes += all;
	store->is_urgent = store->is_urgent || is_full;
	store_wake_locked(store);
	pthread_mutex_unlock(&store->lock);
	return is_full;
}

static size_t left_of(size_t bound, size_t taken)
{
	return taken < bound ? bound - taken : 0;
}

size_t store_process_room(struct store_process *process)
{
	struct store *store = process->session->store;
	size_t room, of_all;

	pthread_mutex_lock(&store->lock);
	room = left_of(STORE_QUEUE_PROCESS_BYTES_MAX, process->queued_bytes);
	of_all = left_of(STORE_QUEUE_BYTES_MAX, store->queued_bytes);
	pthread_mutex_unlock(&store->lock);
	return of_all < room ? of_all : room;
}

int store_process_watch(struct store_process *process, int memfd)
{
	struct command *command = command_new(COMMAND_PROCESS_WATCH, process->session, process);

	if (!command) {
		if (memfd >= 0)
			close(memfd);
		return -ENOMEM;
	}
	command->memfd = memfd;
	return store_post(process->session->store, command);
}

int store_process_end(
	struct store_process *process, int memfd, enum store_ended how, int exit_status)
{
	struct command *command = command_new(COMMAND_PROCESS_END, process->session, process);

	if (!command)
		return -ENOMEM;
	command->memfd = memfd;
	command->how = how;
	command->exit_status = exit_status;
	return store_post(process->session->store, command);
}

int store_process_left(struct store_session *session, uint64_t process_id, enum store_ended how,
	int exit_status, void *owner, struct store_process **ret)
{
	struct store_process *process = calloc(1, sizeof(*process));
	struct command *command =
		process ? command_new(COMMAND_PROCESS_LEFT, session, process) : NULL;

	if (!command) {
		free(process);
		return -ENOMEM;
	}
	process->session = session;
	process->owner = owner;
	process->in_flight.memfd = -1;
	command->process_id = process_id;
	command->how = how;
	command->exit_status = exit_status;
	*ret = process;
	return store_post(session->store, command);
}

/* COMMAND_REMOVE, KEEP and RELEASE. */
static int post_disposal(struct store *store, enum command_kind kind, uid_t uid, const char *name,
	const char *database, void *owner)
{
	struct command *command = command_new(kind, NULL, NULL);
	bool ok = true;

	if (!command)
		return -ENOMEM;
	command->text = copy_path(name, &ok);
	command->database = copy_path(database, &ok);
	command->uid = uid;
	command->owner = owner;
	if (!ok) {
		command_free(command);
		return -ENOMEM;
	}
	return store_post(store, command);
}

int store_remove(
	struct store *store, uid_t uid, const char *name, const char *database, void *owner)
{
	return post_disposal(store, COMMAND_REMOVE, uid, name, database, owner);
}

int store_keep(struct store *store, uid_t uid, const char *name, const char *database, bool is_kept,
	void *owner)
{
	return post_disposal(
		store, is_kept ? COMMAND_KEEP : COMMAND_RELEASE, uid, name, database, owner);
}
