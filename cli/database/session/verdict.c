// SPDX-License-Identifier: MIT
#include "cli/database/session/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

/* Storage for the names of reasons that struct completeness borrows. */
#define VERDICT_NAMES_BYTES 4096

void verdict_free_p(struct verdict **verdict)
{
	if (!*verdict)
		return;
	free((*verdict)->names);
	free(*verdict);
	*verdict = NULL;
}

static const char *keep_name(struct verdict *v, const char *name)
{
	size_t bytes = strlen(name) + 1;
	char *kept = v->names + v->names_bytes;

	if (bytes > VERDICT_NAMES_BYTES - v->names_bytes)
		return "other";
	memcpy(kept, name, bytes);
	v->names_bytes += bytes;
	return kept;
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static int read_ledger(struct query *query, struct completeness *c)
{
	int r = 0;

	QUERY_EACH (r, query, "ledger", rows) {
		uint64_t *const sums[] = {&c->dispatched, &c->skipped, &c->stored, &c->untimed,
			&c->outstanding, &c->dropped, &c->torn, &c->pending};

		for (int i = 0; i < 8; i++)
			*sums[i] += (uint64_t)query_integer(rows, i + 2);
	}
	return r;
}

static int read_imports(struct query *query, struct completeness *c)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "imported", &rows);

	if (!r)
		r = query_next(rows);
	if (r <= 0 || !query_integer(rows, 3))
		return r < 0 ? r : 0;
	c->imported = true;
	c->imported_stored = (uint64_t)query_integer(rows, 0);
	if (query_text(rows, 1))
		snprintf(c->imported_from, sizeof(c->imported_from), "%s", query_text(rows, 1));
	c->imported_all = query_integer(rows, 2) != 0;
	return 0;
}

/* Must count as the collector does (collectord/ingest/completeness/verdict.c), so that both print
 * the same. */
static void add_loss(struct verdict *v, const char *reason, uint64_t count)
{
	struct completeness *c = &v->counts;
	uint64_t *own = completeness_own_loss(c, reason);

	if (!strcmp(reason, "torn"))
		return; /* it is summed from the queues */
	if (own)
		*own += count;
	else if (!strcmp(reason, "unknown_tail"))
		c->tails_unknown += count;
	else if (begins(reason, "dropped_"))
		completeness_add(&c->dropped_by, keep_name(v, reason), count);
	else if (begins(reason, "untimed_"))
		completeness_add(&c->untimed_by, keep_name(v, reason), count);
	else
		c->other_losses += count;
}

static int read_losses(struct query *query, struct verdict *v)
{
	int r = 0;

	QUERY_EACH (r, query, "loss_reasons", rows) {
		const char *reason = query_text(rows, 0) ? query_text(rows, 0) : "";

		add_loss(v, reason, (uint64_t)query_integer(rows, 1));
	}
	return r;
}

static int read_places(struct query *query, struct verdict *v)
{
	int r = 0;

	QUERY_EACH (r, query, "loss_places", rows) {
		struct completeness_place place = {
			.processes = (uint64_t)query_integer(rows, 1),
			.has_rank = !query_is_null(rows, 2),
			.rank = query_integer(rows, 2),
			.has_queue = !query_is_null(rows, 3),
			.queue = query_integer(rows, 3),
			.from_ns = query_integer(rows, 4),
			.to_ns = query_integer(rows, 5),
		};

		completeness_locate(
			&v->counts, query_text(rows, 0) ? query_text(rows, 0) : "", &place);
	}
	return r;
}

static int read_skipped(struct query *query, struct verdict *v)
{
	int r = 0;

	QUERY_EACH (r, query, "skipped", rows) {
		const char *name = query_text(rows, 0) ? query_text(rows, 0) : "";
		uint64_t count = (uint64_t)query_integer(rows, 1);

		if (!strcmp(name, "untimed_mode"))
			v->counts.untimed_by_mode = count;
		else
			completeness_add(&v->counts.skipped_by, keep_name(v, name), count);
	}
	return r;
}

static int read_sessions(struct query *query, struct completeness *c)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "sessions", &rows);

	/* Without a session, none has ended. */
	c->live = true;
	for (bool is_first = true; !r && (r = query_next(rows)) > 0; is_first = false) {
		c->live = (c->live && !is_first) || query_is_null(rows, 7);
		r = 0;
	}
	return r;
}

/*
 * A closed file contains the number of its rows. SQLite has no checksums: a flipped bit may hide
 * rows or change a count, and nothing else would reveal it.
 */
static int check_seal(struct query *query, const struct completeness *c)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	uint64_t dispatched, stored, own_stored = c->stored - c->imported_stored, imported;
	const char *line, *counts;
	int r = query_ask(query, "sealed", &rows);

	if (!r)
		r = query_next(rows);
	if (r <= 0)
		return r;
	line = query_text(rows, 0);
	counts = line ? strstr(line, "imported: ") : NULL;
	if (counts && sscanf(counts, "imported: %" SCNu64 " kernel", &imported) == 1 &&
		imported != c->imported_stored)
		return query_damaged(query,
			"%" PRIu64 " kernels were imported into it; %" PRIu64 " are found",
			imported, c->imported_stored);
	counts = line ? strstr(line, "omplete: ") : NULL;
	if (!counts)
		counts = line ? strstr(line, "OMPLETE: ") : NULL;
	if (!counts ||
		sscanf(counts + strlen("omplete: "), "%" SCNu64 " dispatched, %" SCNu64 " stored",
			&dispatched, &stored) != 2)
		return 0;
	if (dispatched == c->dispatched && stored == own_stored)
		return 0;
	return query_damaged(query,
		"it had %" PRIu64 " dispatched, %" PRIu64 " stored when it was closed; %" PRIu64
		", %" PRIu64 " are found",
		dispatched, stored, c->dispatched, own_stored);
}

/*
 * Our own text is plain, but a file of unknown origin may contain reasons with control characters
 * for terminals.
 */
static void make_plain(char *line)
{
	for (; *line; line++)
		if (*line < ' ' || *line > '~')
			*line = '?';
}

static int verdict_fill(struct query *query, const uint64_t *rows_seen, struct verdict *v)
{
	struct completeness *c = &v->counts;
	int64_t undrained = 0, simulated = 0;
	int r = query_number(query, "simulated", 0, &simulated);

	if (!r)
		r = read_ledger(query, c);
	if (!r)
		r = read_imports(query, c);
	if (!r)
		r = read_losses(query, v);
	if (!r)
		r = read_places(query, v);
	if (!r)
		r = read_skipped(query, v);
	if (!r)
		r = read_sessions(query, c);
	if (!r)
		r = query_number(query, "undrained", 0, &undrained);
	c->written = query_is_in_use(query);
	if (!r && !c->live)
		r = check_seal(query, c);
	if (r)
		return r;
	c->undrained = (uint64_t)undrained;
	c->simulated = v->is_simulated = simulated != 0;
	/* As found now, regardless of what its collector found when it closed the file. */
	if (rows_seen)
		c->rows_missing =
			*rows_seen < c->stored ? c->stored - *rows_seen : *rows_seen - c->stored;
	v->is_complete = completeness_is_complete(c);
	v->is_unknown = completeness_is_unknown(c);
	v->is_empty = !c->dispatched && !c->imported_stored;
	make_plain(completeness_format(c, v->line, sizeof(v->line)));
	return 0;
}

int verdict_new(struct query *query, const uint64_t *rows_seen, struct verdict **ret)
{
	CLEANUP(verdict_free_p) struct verdict *v = xcalloc(1, sizeof(*v));
	int r;

	if (v)
		v->names = xmalloc(VERDICT_NAMES_BYTES);
	r = verdict_fill(query, rows_seen, v);
	if (r)
		return r;
	*ret = TAKE(v);
	return 0;
}

const char *verdict_label(const struct verdict *verdict)
{
	if (verdict->is_complete)
		return NULL;
	return verdict->is_unknown			   ? "IMPORTED"
	       : completeness_is_running(&verdict->counts) ? "RUNNING"
							   : "INCOMPLETE";
}

json_t *verdict_complete_json(const struct verdict *verdict)
{
	return verdict->is_unknown ? json_null() : json_boolean(verdict->is_complete);
}

void verdict_put_json(const struct verdict *verdict, json_t *document)
{
	const struct completeness *c = &verdict->counts;

	json_object_set_new(document, "complete", verdict_complete_json(verdict));
	json_object_set_new(document, "simulated", json_boolean(verdict->is_simulated));
	json_object_set_new(document, "live", json_boolean(c->live));
	json_object_set_new(document, "line", json_string(verdict->line));
	json_object_set_new(document, "dispatched",
		c->imported ? json_null() : json_integer((json_int_t)c->dispatched));
	json_object_set_new(document, "stored", json_integer((json_int_t)c->stored));
	json_object_set_new(document, "dropped", json_integer((json_int_t)c->dropped));
	json_object_set_new(document, "untimed", json_integer((json_int_t)c->untimed));
	json_object_set_new(
		document, "untimed_by_mode", json_integer((json_int_t)c->untimed_by_mode));
	json_object_set_new(document, "queues_not_followed",
		json_integer((json_int_t)(c->queues_coop + c->queues_ineligible)));
	json_object_set_new(document, "outstanding", json_integer((json_int_t)c->outstanding));
	json_object_set_new(document, "skipped", json_integer((json_int_t)c->skipped));
	json_object_set_new(document, "torn", json_integer((json_int_t)c->torn));
	json_object_set_new(document, "pending", json_integer((json_int_t)c->pending));
}
