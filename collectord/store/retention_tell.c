/* SPDX-License-Identifier: MIT */
#include "collectord/store/retention_tell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectord/catalog/index_removed.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

void retention_say_removed(const struct index_removed *removed, void *data)
{
	const struct index_entry *session = &removed->session;
	struct store_answer answer = {
		.kind = STORE_REMOVED,
		.name = copy(session->name),
		.job = copy(session->job),
		.database = copy(session->database),
		.text = copy(removed->why),
		.removed =
			{
				.uid = session->uid,
				.start_ns = session->start_realtime_ns,
				.end_ns = session->end_realtime_ns,
				.removed_ns = removed->removed_ns,
				.stored = session->stored,
				.bytes = session->bytes,
			},
	};

	answer_left(data, &answer);
}

void retention_say_kept(struct store *store, const char *database, const char *why)
{
	struct store_answer answer = {.kind = STORE_KEPT};

	if (asprintf(&answer.text, "%s: cannot be removed: %s", database, why) < 0)
		answer.text = NULL;
	answer_left(store, &answer);
}

/* True for a reader or a full disk: sessions that store are told of those. */
static bool passes(int error)
{
	return error == -EBUSY || error == -ENOMEM || error == -ENOSPC;
}

void retention_say_index(struct store *store, int error)
{
	const char *path = index_file_path(store->index);
	struct store_answer answer = {.kind = STORE_KEPT};
	int gone = error ? storage_check_file(path) : 0;

	error = gone < 0 ? gone : error; /* SQLite only reports that it may not write to the file */
	if (passes(error) || error == store->index_error)
		return;
	store->index_error = error;
	if ((error ? asprintf(&answer.text,
			     "%s: %s: no closed session is removed, and new ones are not listed, until "
			     "the collector is started again",
			     path, session_file_explain(error))
		   : asprintf(&answer.text, "%s: it is as it should be again", path)) < 0)
		answer.text = NULL;
	answer_left(store, &answer);
}

const char *retention_explain(int error)
{
	return error == -ELOOP	       ? "it is a symbolic link, or lies behind one"
	       : error == -EMEDIUMTYPE ? "it is not a database of rtl"
	       : error == -EPERM       ? "it is not ours"
				       : session_file_explain(error);
}
