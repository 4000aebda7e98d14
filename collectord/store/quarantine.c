/* SPDX-License-Identifier: MIT */
/*
 * Sets a damaged database aside and gives its name to a new one. What was acknowledged before is in
 * the file that was set aside; the new file records that, and its verdict is "incomplete".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/db/damaged_file.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/fault.h"
#include "proto/base/limits.h"

static int put_note(struct writer *writer, const char *aside, unsigned count)
{
	int r = writer_begin(writer);

	if (r == 0)
		r = writer_put_loss(writer, "databases_set_aside", count);
	if (r == 0)
		r = writer_put_meta(writer, "set_aside", aside);
	return r == 0 ? writer_commit(writer) : r;
}

static int make_noted(struct store *store, const char *path, const char *aside, unsigned count)
{
	struct writer *writer = NULL;
	int r = storage_create_file(path, store->index != NULL);

	if (r < 0)
		return r;
	r = writer_open(path, &store->arena, &store->patience, &writer);
	if (r == 0)
		r = put_note(writer, aside, count);
	writer_free(writer); /* this seals it again */
	if (r < 0)
		(void)unlink(path); /* this call made it, and nothing in it is needed */
	return r;
}

void renew_say_aside(struct store *store, const char *path, const char *aside, int error)
{
	answer_text(store, STORE_SET_ASIDE, error, "set aside: %s: %s; it is %s now", path,
		store_explain(error), aside);
}

void renew_say_cut(struct store *store, const char *path)
{
	answer_text(store, STORE_CUT, -EUCLEAN,
		"%s: its log is damaged: of what was committed last a part is lost", path);
}

int renew_file(struct store *store, const char *path, int error, unsigned count, char **ret_aside)
{
	CLEANUP(free_p) char *aside = NULL;
	int r = aside_move(path, &aside);

	if (r < 0)
		return r;
	FAULT_POINT("moved_aside");
	r = make_noted(store, path, aside, count);
	if (r < 0) {
		aside_undo(path, aside);
		return r;
	}
	renew_say_aside(store, path, aside, error);
	if (ret_aside)
		*ret_aside = TAKE(aside);
	return 0;
}

void renew_tell_index(struct store *store, const char *path, const char *aside, int error)
{
	char line[128];

	snprintf(line, sizeof(line), "set aside: %s", store_explain(error));
	/* The index only helps to find files. */
	if (store->index)
		(void)index_set_aside(store->index, path, aside, line);
}

/* ---- of a database that is open ------------------------------------------------------------ */

/* Requeues what is not acknowledged. Closes begin again, since an end that was written is in the
 * old file. */
static void take_back(struct store_database *database)
{
	work_take_back(database);
	for (struct command *c = database->todo.first; c; c = c->next)
		c->deadline_ns = 0;
	for (struct store_session *s = database->first_session; s; s = s->sibling) {
		s->is_over = false; /* its final figures were those of the old file */
		for (struct store_process *p = s->processes; p; p = p->next)
			p->is_touched = false;
	}
}

void renew_want(struct store_database *database, int error)
{
	database->damage = error;
	database->must_renew = true;
	database->is_sealed = false;
	take_back(database);
	writer_detach(database->writer);
}

static int move_process(struct store *store, struct store_process *p)
{
	Rtl__Frame *frame;
	int r = p->hello ? msg_unpack(&store->arena, p->hello, p->hello_bytes, &frame) : -EIO;

	if (r < 0)
		return r;
	return process_move(p->process, p->session->database->writer, p->session->id, frame->hello,
		p->uid, p->committed);
}

/* Also writes the controls and the categories that the session was given. */
static int put_session(struct store_session *session, struct writer *writer)
{
	int r = session_row_put(session, writer);

	if (r == 0 && session->controls)
		r = session_row_put_controls(writer, session->id, session->controls);
	if (r == 0 && session->categories)
		r = session_row_put_categories(writer, session->categories);
	return r;
}

static int put_all(struct store *store, struct store_database *database)
{
	int r = writer_begin(database->writer);

	for (struct store_session *s = database->first_session; s && r == 0; s = s->sibling) {
		s->was_renewed = true;
		r = put_session(s, database->writer);
		for (struct store_process *p = s->processes; p && r == 0; p = p->next)
			if (p->process)
				r = move_process(store, p);
	}
	return r == 0 ? writer_commit(database->writer) : r;
}

static int replace(struct store *store, struct store_database *database)
{
	CLEANUP(free_p) char *aside = NULL;
	const char *path = database->writer->path;
	int r = renew_file(store, path, database->damage, database->asides + 1, &aside);

	if (r < 0)
		return r;
	renew_tell_index(store, path, aside, database->damage);
	database->asides++;
	database->damage = 0;
	return 0;
}

static int attach(struct store_database *database)
{
	struct stat st;
	int r = writer_attach(database->writer);

	if (r < 0)
		return r;
	database->writer->is_resumed = true;
	if (stat(database->writer->path, &st) == 0) {
		database->dev = st.st_dev;
		database->ino = st.st_ino;
	}
	return 0;
}

static int renew(struct store *store, struct store_database *database)
{
	int r = database->damage ? replace(store, database) : 0;

	if (r == 0)
		r = attach(database);
	if (r == 0)
		r = put_all(store, database);
	return r;
}

int renew_database(struct store *store, struct store_database *database)
{
	int r = renew(store, database);

	if (r < 0) {
		if (aside_is_damage(r) && database->asides < STORE_ASIDES_MAX)
			database->damage = r;
		writer_detach(database->writer);
		return r;
	}
	database->must_renew = false;
	database->must_reload = false;
	for (struct store_session *s = database->first_session; s; s = s->sibling) {
		for (struct store_process *p = s->processes; p; p = p->next)
			if (p->process)
				stat_fill_process(p);
		(void)stat_fill_session(s, true); /* if this fails, the next commit does it */
		session_put_index(store, s);
	}
	return 0;
}
