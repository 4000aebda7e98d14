/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "collectord/store/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

struct command *command_new(
	enum command_kind kind, struct store_session *session, struct store_process *process)
{
	struct command *command = calloc(1, sizeof(*command));

	if (!command)
		return NULL;
	command->kind = kind;
	command->session = session;
	command->process = process;
	command->memfd = command->log_fd = -1;
	command->made_ns = clock_monotonic_ns();
	return command;
}

bool command_is_note(const struct command *command)
{
	return command->kind == COMMAND_SESSION_COMMAND ||
	       command->kind == COMMAND_SESSION_CONTROLS ||
	       command->kind == COMMAND_SESSION_CATEGORIES ||
	       command->kind == COMMAND_SESSION_UNSEEN;
}

struct command *command_free(struct command *command)
{
	if (!command)
		return NULL;
	if (command->memfd >= 0)
		close(command->memfd);
	if (command->log_fd >= 0)
		close(command->log_fd);
	if (command->flush && --command->flush->parts == 0) {
		answer_flushed(command->flush->store, command->flush->owner, command->flush->error);
		free(command->flush);
	}
	free(command->bytes);
	free(command->text);
	free(command->database);
	free(command->limits);
	free(command);
	return NULL;
}

size_t command_bytes(const struct command *command)
{
	return sizeof(*command) + command->count;
}

void command_list_add(struct command_list *list, struct command *command)
{
	command->next = NULL;
	if (list->first)
		*list->end = command;
	else
		list->first = command;
	list->end = &command->next;
}

void command_list_insert(struct command_list *list, struct command *before, struct command *command)
{
	command->next = before->next;
	before->next = command;
	if (list->end == &before->next)
		list->end = &command->next;
}

void command_list_prepend(struct command_list *list, struct command_list *more)
{
	if (!more->first)
		return;
	*more->end = list->first;
	if (!list->first)
		list->end = more->end;
	list->first = more->first;
	*more = (struct command_list){0};
}

struct command *command_list_take(struct command_list *list)
{
	struct command *command = list->first;

	if (command) {
		list->first = command->next;
		command->next = NULL;
		if (command->process && command->process->last == command)
			command->process->last = NULL;
	}
	return command;
}

void work_take_back(struct store_database *database)
{
	if (database->current)
		command_list_add(&database->taken, TAKE(database->current));
	for (struct command *c = database->taken.first; c; c = c->next)
		if (c->kind == COMMAND_PROCESS_OPEN) {
			c->process->process = process_free(c->process->process);
			c->process->is_opening = c->process->is_touched = false;
			/* It is not known what the lost transaction did to these rows. */
			c->process->in_flight.may_have_rows = true;
		}
	command_list_prepend(&database->todo, &database->taken);
	database->has_openings = database->is_parting = false;
}
