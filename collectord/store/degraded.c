/* SPDX-License-Identifier: MIT */
#include "collectord/store/degraded.h"

#include <errno.h>
#include <string.h>

#include "collectord/db/damaged_file.h"
#include "collectord/store/retention.h"
#include "collectord/catalog/free_space.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

static void fail_reload(struct store_database *database, int error)
{
	if (error == 0)
		return;
	database->must_reload = true;
	database->reload_error = error;
}

static void reload_process(struct store_process *p)
{
	struct store_database *database = p->session->database;

	p->is_touched = false;
	p->in_flight.may_have_rows = true; /* the lost transaction may have changed them */
	fail_reload(database, process_reload(p->process, database->writer));
}

static void say_state(struct store_database *database, enum store_answer_kind kind, int error)
{
	for (struct store_session *s = database->first_session; s; s = s->sibling)
		answer_session(s, kind, error, error ? store_explain(error) : NULL);
}

static void set_trouble(struct store_database *database, int error)
{
	if (database->trouble == error)
		return;
	if (!database->trouble)
		database->trouble_ns = clock_monotonic_ns();
	database->trouble = error;
	say_state(database, error ? STORE_DEGRADED : STORE_RECOVERED, error);
}

void trouble_roll_back(struct store_database *database)
{
	database->must_reload = false;
	work_take_back(database);
	fail_reload(database, writer_rollback(database->writer));
	for (struct store_session *s = database->first_session; s; s = s->sibling)
		for (struct store_process *p = s->processes; p; p = p->next)
			if (p->process)
				reload_process(p);
}

static unsigned count(const struct command_list *list)
{
	unsigned n = 0;

	for (const struct command *c = list->first; c; c = c->next)
		n++;
	return n;
}

void trouble_pause(struct store_database *database)
{
	database->retry_ns = database->retry_ns ? database->retry_ns * 2 : STORE_RETRY_NS_MIN;
	if (database->retry_ns > STORE_RETRY_NS_MAX)
		database->retry_ns = STORE_RETRY_NS_MAX;
	database->not_before_ns = clock_monotonic_ns() + database->retry_ns;
}

void trouble_fail(struct store *store, struct store_database *database, int error)
{
	unsigned under_way = count(&database->taken) + (database->current != NULL);

	/* SQLite has no error code for EDQUOT. */
	if (error == -EIO && sqlite3_system_errno(database->writer->db) == EDQUOT)
		error = -ENOSPC;
	if (aside_is_damage(error) && database->asides < STORE_ASIDES_MAX)
		renew_want(database, error);
	else
		trouble_roll_back(database);
	if (error == -ENOSPC && store->room)
		database->finishing = room_spend(store->room) ? under_way : 0;
	trouble_pause(database);
	set_trouble(database, error);
}

void trouble_over(struct store *store, struct store_database *database)
{
	database->retry_ns = 0;
	if (database->trouble == -ENOSPC && store->room && !room_is_there(store->room)) {
		database->not_before_ns = clock_monotonic_ns() + STORE_ROOM_TRY_NS;
		return;
	}
	database->not_before_ns = 0;
	set_trouble(database, 0);
}

/* True for records. All other commands fit into the reserve. */
static bool is_bulk(const struct command *command)
{
	return (command->kind == COMMAND_PROCESS_FRAMES || command->kind == COMMAND_PROCESS_END) &&
	       !command->process->given_up;
}

bool trouble_must_wait(
	struct store *store, struct store_database *database, const struct command *command)
{
	if (!store->room || !is_bulk(command))
		return false;
	if (database->finishing) {
		database->finishing--;
		return false;
	}
	if (room_is_there(store->room))
		return false;
	retention_hurry(store); /* removing closed sessions may make room */
	database->not_before_ns = clock_monotonic_ns() + STORE_ROOM_TRY_NS;
	set_trouble(database, -ENOSPC);
	return true;
}

/* ---- giving up ------------------------------------------------------------------------------ */

static bool is_end(const struct command *command)
{
	return command->kind == COMMAND_PROCESS_END || command->kind == COMMAND_PROCESS_LEFT;
}

/* True if @command has waited @ns for the disk. Time in the queue while the disk worked does not
 * count. */
static bool has_waited(
	const struct store_database *database, const struct command *command, uint64_t ns)
{
	uint64_t since_ns =
		command->made_ns > database->trouble_ns ? command->made_ns : database->trouble_ns;

	return clock_monotonic_ns() - since_ns >= ns;
}

/* True: a process was newly given up. */
static bool mark_given_up(const struct store *store, const struct store_database *database)
{
	bool is_new = false;

	for (const struct command *c = database->todo.first; c; c = c->next) {
		if (!has_waited(database, c, store->give_up_ns))
			continue;
		if (is_end(c) && !c->process->given_up) {
			c->process->given_up = database->trouble;
			is_new = true;
		}
		if (c->kind != COMMAND_SESSION_CLOSE)
			continue;
		for (struct store_process *p = c->session->processes; p; p = p->next) {
			is_new |= !p->given_up;
			p->given_up = database->trouble;
		}
	}
	return is_new;
}

/* Moves the commands of processes that are given up before those that wait for room, and drops
 * their frames. */
static void move_given_up_first(struct store *store, struct store_database *database)
{
	struct command_list first = {0}, later = {0};
	struct command *command;

	while ((command = command_list_take(&database->todo))) {
		bool is_given_up = command->process && command->process->given_up;

		if (is_given_up && command->kind == COMMAND_PROCESS_FRAMES) {
			answer_release(store, command);
			command_free(command);
		} else if (is_given_up ||
			   (command->kind == COMMAND_SESSION_CLOSE &&
				   has_waited(database, command, store->give_up_ns))) {
			command_list_add(&first, command);
		} else {
			command_list_add(&later, command);
		}
	}
	command_list_prepend(&later, &first);
	database->todo = later;
}

/* Drops a command of which nothing can be written. In the file the process stays marked as
 * running. */
static void drop_unwritable(struct store *store, struct store_database *database)
{
	struct command *command = command_list_take(&database->todo);
	struct store_process *p = command->process;

	if (p && !p->is_over) {
		p->is_over = true;
		p->session->unseen += command->kind == COMMAND_PROCESS_OPEN;
		answer_process(p, STORE_PROCESS_FAILED, database->trouble,
			"its last records cannot be stored");
		p->process = process_free(p->process);
	}
	if (command->kind == COMMAND_SESSION_UNSEEN)
		command->session->unseen += (unsigned)command->count;
	answer_release(store, command);
	command_free(command);
}

/* It has failed for twice the allowed time, and later commands cannot do better. */
static bool is_hopeless(
	const struct store *store, const struct store_database *database, const struct command *c)
{
	return c && database->retry_ns && has_waited(database, c, 2 * store->give_up_ns) &&
	       (c->process ? c->process->given_up : command_is_note(c));
}

struct store_session *trouble_give_up(struct store *store, struct store_database *database)
{
	struct store_session *session;
	struct command *first;

	if (!database->trouble)
		return NULL;
	if (mark_given_up(store, database)) {
		trouble_roll_back(database);
		move_given_up_first(store, database);
	}
	if (database->retry_ns && is_hopeless(store, database, database->todo.first))
		trouble_roll_back(database);
	while (is_hopeless(store, database, database->todo.first))
		drop_unwritable(store, database);
	first = database->todo.first;
	if (!first || first->kind != COMMAND_SESSION_CLOSE || !database->retry_ns ||
		!has_waited(database, first, 2 * store->give_up_ns))
		return NULL;
	trouble_roll_back(database);
	first = command_list_take(&database->todo);
	session = first->session;
	command_free(first);
	return session;
}
