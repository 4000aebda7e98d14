/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectord/store/internal.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"

/* Takes ownership of @entry. The caller holds the lock; the eventfd does not need it. */
static void post_locked(struct store *store, struct answer *entry)
{
	uint64_t one = 1;

	if (!store->answers)
		store->answers_end = &store->answers;
	*store->answers_end = entry;
	store->answers_end = &entry->next;
	/* Fails only if the counter stands at 2^64 - 2: the eventfd is readable all the same. */
	(void)!write(store->answer_fd, &one, sizeof(one));
}

static void post(struct store *store, const struct store_answer *answer)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct answer *entry;

	/* The loop thread waits for each answer without a timeout. Without memory the disk waits,
	 * too. */
	while (!(entry = calloc(1, sizeof(*entry))))
		(void)nanosleep(&pause, NULL);
	entry->answer = *answer;
	pthread_mutex_lock(&store->lock);
	post_locked(store, entry);
	pthread_mutex_unlock(&store->lock);
}

void answer_session(
	struct store_session *session, enum store_answer_kind kind, int error, const char *text)
{
	struct store_answer answer = {
		.kind = kind,
		.owner = session->owner,
		.error = error,
		.complete = session->stat.complete,
		.text = text_copy(text),
		.name = text_copy(session->name),
		.database = text_copy(session->path),
	};

	post(session->store, &answer);
}

void answer_process(
	struct store_process *process, enum store_answer_kind kind, int error, const char *text)
{
	const struct process *p = process->process;
	struct store_answer answer = {
		.kind = kind,
		.owner = process->owner,
		.error = error,
		.process_id = p ? (uint64_t)p->id : 0,
		.frame = process->committed,
		.text = text_copy(text),
	};

	post(process->session->store, &answer);
}

void answer_left(struct store *store, struct store_answer *answer)
{
	post(store, answer);
	*answer = (struct store_answer){0};
}

void answer_text(
	struct store *store, enum store_answer_kind kind, int error, const char *format, ...)
{
	struct store_answer answer = {.kind = kind, .error = error};
	va_list args;

	va_start(args, format);
	answer.text = format_newv(format, args);
	va_end(args);
	post(store, &answer);
}

void answer_flushed(struct store *store, void *owner, int error)
{
	struct store_answer answer = {.kind = STORE_FLUSHED, .owner = owner, .error = error};

	post(store, &answer);
}

static void give_room_locked(struct store *store, struct store_process *process)
{
	struct answer *entry;

	if (!process->is_stalled || process->queued_bytes > STORE_QUEUE_PROCESS_BYTES_MAX / 2)
		return;
	/* The process has had its last answer: the loop thread does not wait, and the owner may be
	 * gone. */
	if (process->is_over) {
		process->is_stalled = false;
		store->stalled--;
		return;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return; /* stays stalled; the next release tries again */
	process->is_stalled = false;
	store->stalled--;
	entry->answer = (struct store_answer){.kind = STORE_ROOM, .owner = process->owner};
	post_locked(store, entry);
}

static void give_room_to_all_locked(struct store *store, struct store_process *p)
{
	for (; p; p = p->next)
		give_room_locked(store, p);
}

void answer_release(struct store *store, const struct command *command)
{
	bool is_full;

	if (command->kind != COMMAND_PROCESS_FRAMES)
		return;
	pthread_mutex_lock(&store->lock);
	command->process->queued_bytes -= command_bytes(command);
	store->queued_bytes -= command_bytes(command);
	is_full = store->queued_bytes > STORE_QUEUE_BYTES_MAX / 2;
	for (struct store_session *s = store->stalled && !is_full ? store->sessions : NULL; s;
		s = s->next) {
		give_room_to_all_locked(store, s->processes);
		give_room_to_all_locked(store, s->ended);
	}
	pthread_mutex_unlock(&store->lock);
}

int store_next_answer(struct store *store, struct store_answer *ret)
{
	struct answer *entry;
	uint64_t count;

	pthread_mutex_lock(&store->lock);
	entry = store->answers;
	if (entry)
		store->answers = entry->next;
	else
		/* The counter is reset only when the list is empty, so no answer is left
		 * unannounced. */
		(void)!read(store->answer_fd, &count, sizeof(count));
	pthread_mutex_unlock(&store->lock);
	if (!entry)
		return 0;
	*ret = entry->answer;
	free(entry);
	return 1;
}

void store_answer_done(struct store_answer *answer)
{
	free(answer->text);
	free(answer->name);
	free(answer->database);
	free(answer->job);
	free(answer->line);
	answer->text = answer->name = answer->database = answer->job = answer->line = NULL;
}

void answer_drop_all(struct store *store)
{
	struct store_answer answer;

	while (store_next_answer(store, &answer))
		store_answer_done(&answer);
}

void store_beat(struct store *store)
{
	atomic_fetch_add_explicit(&store->beats, 1, memory_order_relaxed);
}

uint64_t store_beats(struct store *store)
{
	return atomic_load_explicit(&store->beats, memory_order_relaxed);
}
