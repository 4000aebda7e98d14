/* SPDX-License-Identifier: MIT */
#include "collectord/store/store.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collectord/channel/channel.h"
#include "collectord/channel/seat.h"
#include "collectord/db/database.h"
#include "collectord/db/watched_vfs.h"
#include "collectord/store/retention.h"
#include "collectord/catalog/free_space.h"
#include "collectord/store/thread/thread.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"
#include "proto/base/list.h"

static void run_batch(struct store *store, struct command_list *batch)
{
	struct command *command;

	while ((command = command_list_take(batch)))
		turns_route(store, command);
	turns_round(store);
}

/* CLOCK_MONOTONIC of the next work; UINT64_MAX: there is none. */
static uint64_t next_time(struct store *store)
{
	uint64_t next_ns = turns_has_opens(store) ? 0 : retention_next_ns(store);

	for (const struct store_database *d = store->databases; d; d = d->next) {
		uint64_t at_ns = UINT64_MAX;

		if (d->todo.first || d->must_reload || d->trouble || d->is_left)
			at_ns = d->not_before_ns;
		else if (d->writer->is_open)
			at_ns = work_next_commit(d);
		else
			at_ns = wal_growth_next_ns(d);
		if (scan_next_ns(d) < at_ns)
			at_ns = scan_next_ns(d);
		if (!d->trouble && !d->writer->is_open && over_quota_next_ns(d) < at_ns)
			at_ns = over_quota_next_ns(d);
		if (at_ns < next_ns)
			next_ns = at_ns;
	}
	return next_ns;
}

bool store_has_work_locked(const struct store *store)
{
	return store->queue.first &&
	       (!store->is_dozing || store->is_urgent || store->unread_bytes >= STORE_DOZE_BYTES);
}

void store_wake_locked(struct store *store)
{
	if (store_has_work_locked(store))
		pthread_cond_signal(&store->wake);
}

static void wait_until_locked(struct store *store, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000u),
		.tv_nsec = (long)(until_ns % 1000000000u),
	};
	int r = 0;

	while (!store_has_work_locked(store) && !store->is_stopping && r != ETIMEDOUT) {
		if (until_ns == UINT64_MAX)
			r = pthread_cond_wait(&store->wake, &store->lock);
		else
			r = pthread_cond_timedwait(&store->wake, &store->lock, &until);
	}
}

/* True if each database with a process that lives has an open transaction, and nothing else to do
 * than to commit it. */
static bool are_commits_next(const struct store *store)
{
	bool are_some = false;

	for (const struct store_database *d = store->databases; d; d = d->next) {
		if (!work_has_processes(d))
			continue;
		if (!d->writer->is_open || d->todo.first || d->trouble || d->must_reload ||
			d->is_left)
			return false;
		are_some = true;
	}
	return are_some;
}

uint64_t store_doze_end(const struct store *store, uint64_t until_ns, bool is_flood)
{
	uint64_t now_ns = clock_monotonic_ns(), end_ns = is_flood ? now_ns + STORE_DOZE_NS : 0;

	/* The service waits for a commit; at the end of a private session a Bye begins it. */
	if (store->index && until_ns > now_ns + STORE_TURNS_NS && are_commits_next(store))
		end_ns = until_ns - STORE_TURNS_NS;
	return end_ns < until_ns ? end_ns : until_ns;
}

/* Waits for commands or until @until_ns. Until @doze_ns a few frames do not end the wait. False:
 * stop. */
static bool wait_for_commands(
	struct store *store, uint64_t until_ns, uint64_t doze_ns, struct command_list *ret)
{
	bool is_stopping;

	pthread_mutex_lock(&store->lock);
	store->is_dozing = doze_ns > 0;
	if (store->is_dozing)
		wait_until_locked(store, doze_ns);
	store->is_dozing = false;
	wait_until_locked(store, until_ns);
	*ret = store->queue;
	store->queue = (struct command_list){0};
	store->unread_bytes = 0;
	store->is_urgent = false;
	is_stopping = store->is_stopping;
	pthread_mutex_unlock(&store->lock);
	return !is_stopping;
}

/* True if frames follow each other closely: the next one alone is not worth a wake. @since_ns: from
 * the last wake to this one. */
static bool are_a_flood(const struct command_list *batch, uint64_t since_ns)
{
	const struct command *first = batch->first;

	return first && first->kind == COMMAND_PROCESS_FRAMES &&
	       (first->next || since_ns < STORE_DOZE_NS);
}

/* Saves all counters, also those that are otherwise saved once a second. */
static void save_everything(struct store *store, struct store_database *database)
{
	int r = writer_begin(database->writer);

	for (struct store_session *s = database->first_session; s && r == 0; s = s->sibling)
		for (struct store_process *p = s->processes; p && r == 0; p = p->next)
			if (p->process) {
				p->is_touched = true;
				r = process_save(p->process, database->writer, true);
			}
	if (r == 0)
		(void)work_commit(store, database); /* tried once: see store_free() */
}

static void close_all(struct store *store)
{
	struct command *command;

	while (store->databases) {
		struct store_database *database = store->databases;

		if (!database->must_reload && !database->must_renew)
			save_everything(store, database);
		while ((command = command_list_take(&database->todo)) ||
			(command = command_list_take(&database->taken)))
			command_free(command);
		command_free(database->current);
		/* The last connection to close checkpoints the WAL. */
		session_file_close(store, database);
	}
	while (store->sessions)
		destroy_session(LIST_POP(store->sessions));
}

static int go_on_beating(void *data)
{
	store_beat(data);
	return 0;
}

static void *store_run(void *data)
{
	struct store *store = data;
	struct command_list batch;
	uint64_t woke_ns = 0, before_ns, until_ns;
	bool goes_on, is_flood = false;

	pace_set_beat(go_on_beating, store);
	do {
		store_beat(store);
		until_ns = next_time(store);
		goes_on = wait_for_commands(
			store, until_ns, store_doze_end(store, until_ns, is_flood), &batch);
		before_ns = woke_ns;
		woke_ns = clock_monotonic_ns();
		is_flood = are_a_flood(&batch, woke_ns - before_ns);
		run_batch(store, &batch);
		retention_step(store);
	} while (goes_on);
	retention_finish(store);
	turns_finish(store); /* tried once: see store_free() */
	close_all(store);
	return NULL;
}

/* ---- loop thread ---------------------------------------------------------------------------- */

int store_post(struct store *store, struct command *command)
{
	if (!command)
		return -ENOMEM;
	pthread_mutex_lock(&store->lock);
	command_list_add(&store->queue, command);
	store->is_urgent = true;
	store_wake_locked(store);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

/* Starts the thread with all signals blocked and the stack that demangling may need. */
static int start_thread(struct store *store)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int r = -pthread_attr_init(&attributes);

	if (r < 0)
		return r;
	r = -pthread_attr_setstacksize(&attributes, STORE_STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0)
		r = -pthread_create(&store->thread, &attributes, store_run, store);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r;
}

static void init_wake(pthread_cond_t *wake)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(wake, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void release(struct store *store)
{
	free(store->scan);
	retention_free(store->retention);
	index_close(store->index);
	room_close(store->room);
	msg_arena_done(&store->arena);
	pthread_cond_destroy(&store->wake);
	pthread_mutex_destroy(&store->lock);
	if (store->answer_fd >= 0)
		close(store->answer_fd);
	free(store);
}

/*
 * Tells the supervisor what changed in the index of a tenant, so that the copy of it can follow. If
 * the channel is full or the name is too long, the database is copied together with all the others,
 * when this worker ends at the latest.
 */
static void on_index_changed(const char *database, void *data)
{
	const struct store *store = data;
	const char *path = index_file_path(store->index);
	size_t bytes = (size_t)(strrchr(path, '/') - path) + 1;
	struct channel_message message = {.kind = CHANNEL_INDEXED};

	if (database && strncmp(database, path, bytes) == 0 &&
		strlen(database + bytes) < sizeof(message.name))
		strcpy(message.name, database + bytes);
	(void)channel_send(store->seat->channel, &message, -1);
}

/* Reads the index of the node, which lies beside that of the tenant. Records of removed sessions
 * that an older rtl wrote there, or this one before the tenant's index was lost, are in no other
 * place. */
static void take_over_index(struct store *store, const char *path)
{
	CLEANUP(free_p)
	char *node = format_new("%.*s/index.db", (int)(strrchr(path, '/') - path), path);

	if (node) /* without memory the files are left to tell */
		(void)index_take_over(store->index, node, store->tenant);
}

/* Opens the index. A damaged one is set aside; what it held can be read from the files. */
static int open_index(struct store *store, const char *path)
{
	struct index_state state = {0};
	CLEANUP(free_p) char *aside = NULL;
	int r = index_open_or_renew(path, store->subuids, &store->index, &state);

	aside = state.aside;
	if (r < 0)
		return r;
	if (store->seat) {
		if (state.is_new)
			take_over_index(store, path);
		index_watch(store->index, on_index_changed, store);
	}
	if (state.is_new)
		store->scan = strdup(path);
	if (state.is_new && !store->scan)
		return -ENOMEM;
	if (aside)
		renew_say_aside(store, path, aside, state.damage);
	return 0;
}

int store_new(const struct store_config *config, struct store **ret)
{
	struct store *store = calloc(1, sizeof(*store));
	int r = 0;

	if (!store)
		return -ENOMEM;
	database_init();
	pthread_mutex_init(&store->lock, NULL);
	init_wake(&store->wake);
	msg_arena_init(&store->arena, ARENA_BYTES_MAX);
	store->patience = (struct database_patience){
		.busy_ms = config->index_path ? STORE_BUSY_SHARED_MS : STORE_BUSY_MS,
		.beat = go_on_beating,
		.data = store,
	};
	store->subuids = config->subuids;
	store->tenant = config->seat ? config->seat->owner : STORE_EVERYBODY;
	store->seat = config->seat;
	quota_limit(&store->account, &config->limits);
	store->has_quotas = over_quota_has_any(&config->limits);
	store->answer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (store->answer_fd < 0)
		r = -errno;
	store->give_up_ns =
		(config->give_up_ms ? config->give_up_ms : STORE_GIVE_UP_MS) * 1000000ull;
	if (r == 0 && config->folder)
		r = room_open(config->folder, config->seat ? config->seat->reserve : -1,
			STORE_RESERVE_BYTES, config->keep_free_bytes, &store->room);
	if (r == 0 && config->index_path)
		r = open_index(store, config->index_path);
	/* The reserve may be all that is left, and without its index no store removes a session. */
	if (r == -ENOSPC && store->room && room_spend(store->room))
		r = open_index(store, config->index_path);
	if (r == 0 && config->index_path && config->folder)
		r = retention_new(store, config);
	if (r == 0)
		r = start_thread(store);
	if (r < 0) {
		release(store);
		return r;
	}
	*ret = store;
	return 0;
}

struct store *store_free(struct store *store)
{
	if (!store)
		return NULL;
	pthread_mutex_lock(&store->lock);
	store->is_stopping = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	answer_drop_all(store);
	release(store);
	return NULL;
}

int store_answer_fd(const struct store *store)
{
	return store->answer_fd;
}

static int post_flush(struct store *store, uid_t uid, void *owner, bool is_scan_first)
{
	struct command *command = command_new(COMMAND_FLUSH, NULL, NULL);
	struct flush *flush = calloc(1, sizeof(*flush));

	if (!command || !flush) {
		command_free(command);
		free(flush);
		return -ENOMEM;
	}
	*flush = (struct flush){.store = store,
		.owner = owner,
		.uid = uid,
		.is_scan_first = is_scan_first,
		.parts = 1};
	command->flush = flush;
	return store_post(store, command);
}

int store_flush(struct store *store, uid_t uid, void *owner)
{
	return post_flush(store, uid, owner, false);
}

int store_look(struct store *store, uid_t uid, void *owner)
{
	return post_flush(store, uid, owner, true);
}

bool store_has_sessions(const char *index_path)
{
	return index_has_sessions(index_path) != 0;
}

int store_open_reserve(const char *folder)
{
	return room_open_reserve(folder);
}

int store_give_back(struct store *store, bool is_room)
{
	return store_post(
		store, command_new(is_room ? COMMAND_GIVE_BACK : COMMAND_WEIGH, NULL, NULL));
}

int store_limit(struct store *store, const struct store_limits *limits)
{
	struct command *command = command_new(COMMAND_LIMITS, NULL, NULL);

	if (command) {
		command->limits = malloc(sizeof(*limits));
		if (command->limits)
			*command->limits = *limits;
		else
			command = command_free(command);
	}
	return store_post(store, command);
}

int store_recover(struct store *store, const char *path)
{
	struct command *command = command_new(COMMAND_RECOVER, NULL, NULL);

	if (command && path) {
		command->text = strdup(path);
		if (!command->text)
			command = command_free(command);
	}
	return store_post(store, command);
}
