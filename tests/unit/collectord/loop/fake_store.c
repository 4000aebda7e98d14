/* SPDX-License-Identifier: MIT */
#include "tests/unit/collectord/loop/fake_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ANSWERS_MAX 4096u

struct store {
	int event_fd;
	struct store_answer answers[ANSWERS_MAX];
	size_t first, count;
};

struct fake_store fake_store;
static struct store *the_store; /* for the calls that name no store */

struct store *fake_store_new(void)
{
	struct store *store = calloc(1, sizeof(*store));

	fake_store = (struct fake_store){0};
	store->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	the_store = store;
	return store;
}

struct store *fake_store_free(struct store *store)
{
	struct store_answer answer;

	while (store_next_answer(store, &answer))
		store_answer_done(&answer);
	while (fake_store.sessions) {
		struct store_session *next = fake_store.sessions->next;

		free(fake_store.sessions);
		fake_store.sessions = next;
	}
	while (fake_store.processes) {
		struct store_process *next = fake_store.processes->next;

		free(fake_store.processes);
		fake_store.processes = next;
	}
	close(store->event_fd);
	free(store);
	return NULL;
}

void fake_store_answer(struct store *store, enum store_answer_kind kind, void *owner,
	uint64_t frame, const char *text)
{
	struct store_answer *answer;
	uint64_t one = 1;

	if (store->count == ANSWERS_MAX)
		abort();
	answer = &store->answers[(store->first + store->count++) % ANSWERS_MAX];
	*answer = (struct store_answer){.kind = kind, .owner = owner, .frame = frame};
	answer->text = text ? strdup(text) : NULL;
	if (write(store->event_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static struct store_answer *last_answer(struct store *store)
{
	return &store->answers[(store->first + store->count - 1) % ANSWERS_MAX];
}

int store_answer_fd(const struct store *store)
{
	return store->event_fd;
}

int store_next_answer(struct store *store, struct store_answer *ret)
{
	uint64_t n;

	if (!store->count) {
		(void)!read(store->event_fd, &n, sizeof(n));
		return 0;
	}
	*ret = store->answers[store->first];
	store->first = (store->first + 1) % ANSWERS_MAX;
	store->count--;
	return 1;
}

void store_answer_done(struct store_answer *answer)
{
	free(answer->text);
	free(answer->name);
	free(answer->database);
}

static bool refuses(void)
{
	return fake_store.refusals && fake_store.refusals--;
}

int store_flush(struct store *store, uid_t uid, void *owner)
{
	if (refuses())
		return -ENOMEM;
	fake_store.flush_uid = uid;
	fake_store_answer(store, STORE_FLUSHED, owner, 0, NULL);
	last_answer(store)->error = fake_store.flush_error;
	return 0;
}

int store_remove(
	struct store *store, uid_t uid, const char *name, const char *database, void *owner)
{
	fake_store.disposal_uid = uid;
	snprintf(fake_store.disposal_name, sizeof(fake_store.disposal_name), "%s",
		database ? database : name);
	fake_store_answer(store, STORE_DISPOSED, owner, 0, NULL);
	last_answer(store)->error = fake_store.disposal_error;
	return 0;
}

int store_keep(struct store *store, uid_t uid, const char *name, const char *database, bool is_kept,
	void *owner)
{
	(void)is_kept;
	return store_remove(store, uid, name, database, owner);
}

const char *store_explain(int error)
{
	return strerror(-error);
}

int store_limit(struct store *store, const struct store_limits *limits)
{
	(void)store;
	(void)limits;
	return 0;
}

int store_give_back(struct store *store, bool is_room)
{
	(void)store;
	(void)is_room;
	return 0;
}

int store_look(struct store *store, uid_t uid, void *owner)
{
	return store_flush(store, uid, owner);
}

uint64_t store_beats(struct store *store)
{
	return store->count;
}

int store_process_watch(struct store_process *process, int memfd)
{
	(void)process;
	close(memfd);
	return 0;
}

void fake_store_open_session(struct store *store, struct store_session *session)
{
	struct store_answer *answer;

	fake_store_answer(store, STORE_OPENED, session->owner, 0, NULL);
	answer = last_answer(store);
	answer->name = strdup(session->name);
	answer->database = strdup(session->path);
}

int store_session_open(struct store *store, const struct store_session_params *params, void *owner,
	struct store_session **ret)
{
	struct store_session *session = calloc(1, sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->owner = owner;
	session->uid = params->uid;
	snprintf(session->name, sizeof(session->name), "%s", params->name);
	snprintf(session->job, sizeof(session->job), "%s", params->job ? params->job : "");
	if (params->path)
		snprintf(session->path, sizeof(session->path), "%s", params->path);
	else
		snprintf(session->path, sizeof(session->path), "%s/%u/%s.db", params->dir,
			params->uid, params->name);
	session->next = fake_store.sessions;
	fake_store.sessions = session;
	fake_store.n_sessions++;
	*ret = session;
	if (fake_store.refuses_sessions)
		fake_store_answer(store, STORE_FAILED, owner, 0, "no room");
	else if (fake_store.only_makes)
		fake_store_answer(store, STORE_MADE, owner, 0, NULL);
	else
		fake_store_open_session(store, session);
	return 0;
}

int store_recover(struct store *store, const char *path)
{
	(void)path;
	fake_store_answer(store, STORE_LEFT_DONE, NULL, 0, NULL);
	return 0;
}

int store_session_command(struct store_session *session, const char *command)
{
	(void)session;
	(void)command;
	return 0;
}

int store_session_categories(struct store_session *session, const char *text)
{
	(void)session;
	(void)text;
	return 0;
}

int store_session_controls(struct store_session *session, const char *text)
{
	(void)session;
	(void)text;
	return 0;
}

int store_session_unseen(struct store_session *session, unsigned processes, uid_t uid)
{
	(void)uid;
	session->unseen += processes;
	return 0;
}

int store_session_close(struct store_session *session, int exit_status)
{
	if (refuses())
		return -ENOMEM;
	session->is_closed = true;
	session->exit_status = exit_status;
	fake_store_answer(the_store, STORE_CLOSED, session->owner, 0, "complete: 0 dispatched");
	return 0;
}

int store_session_close_unwatched(struct store_session *session, int exit_status)
{
	session->was_unwatched = true;
	return store_session_close(session, exit_status);
}

struct store_session *store_session_free(struct store_session *session)
{
	session->is_freed = true;
	return NULL;
}

int store_process_open(struct store_session *session, uint8_t *hello, size_t bytes, uid_t uid,
	pid_t pid, uint64_t start_time, void *owner, struct store_process **ret)
{
	struct store_process *process = calloc(1, sizeof(*process));

	(void)bytes;
	(void)uid;
	(void)start_time;
	free(hello);
	if (!process)
		return -ENOMEM;
	process->session = session;
	process->owner = owner;
	process->pid = pid;
	process->next = fake_store.processes;
	fake_store.processes = process;
	fake_store.n_processes++;
	*ret = process;
	if (fake_store.refuses_sessions) {
		fake_store_answer(the_store, STORE_PROCESS_FAILED, owner, 0, "no room");
		last_answer(the_store)->error = -EBADF;
	} else if (!fake_store.holds_opens)
		fake_store_answer(the_store, STORE_PROCESS_OPENED, owner, 0, NULL);
	return 0;
}

int store_process_reopen(struct store_process *process)
{
	process->reopens++;
	if (!fake_store.holds_opens)
		fake_store_answer(
			the_store, STORE_PROCESS_OPENED, process->owner, process->hw, NULL);
	return 0;
}

int store_process_frames(struct store_process *process, uint8_t *frames, size_t bytes)
{
	free(frames);
	process->frame_bytes += bytes;
	return fake_store.is_full;
}

size_t store_process_room(struct store_process *process)
{
	(void)process;
	return fake_store.is_full ? 0 : SIZE_MAX;
}

int store_process_end(
	struct store_process *process, int memfd, enum store_ended how, int exit_status)
{
	if (refuses())
		return -ENOMEM;
	process->has_ended = true;
	process->how = how;
	process->exit_status = exit_status;
	process->had_memfd = memfd >= 0 && fcntl(memfd, F_GETFD) >= 0;
	if (memfd >= 0)
		close(memfd);
	fake_store_answer(the_store, STORE_PROCESS_ENDED, process->owner, process->hw, NULL);
	return 0;
}

int store_process_left(struct store_session *session, uint64_t process_id, enum store_ended how,
	int exit_status, void *owner, struct store_process **ret)
{
	struct store_process *process = calloc(1, sizeof(*process));

	(void)process_id;
	process->session = session;
	process->owner = owner;
	process->next = fake_store.processes;
	fake_store.processes = process;
	*ret = process;
	return store_process_end(process, -1, how, exit_status);
}

void store_process_stat(const struct store_process *process, struct store_process_stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->pid = process->pid;
	ret->process_id = 1;
	ret->gpus = 1;
	ret->gpu[0].stored = 7;
}

/* Hello's stands. */
bool store_process_rank(const struct store_process *process, bool *ret_has_rank, uint32_t *ret_rank)
{
	(void)process;
	(void)ret_has_rank;
	(void)ret_rank;
	return false;
}

void store_session_stat(const struct store_session *session, struct store_session_stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->closed = session->is_closed;
	ret->stored = 7;
}
