// SPDX-License-Identifier: MIT
#include "cli/info/counters.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/trace/id_map.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

/* The names of the predecessor in its order, and ours. NULL for what we never do. */
static const struct {
	const char *label, *counter;
} lines[] = {
	{"intercept calls:", "intercept_calls"},
	{"signals injected:", "signals_injected"},
	{"own signals read:", "own_signals_read"},
	{"drop (shutdown):", "skipped_shutdown"},
	{"drop (not kernel):", "skipped_not_kernel"},
	{"drop (batch skip):", NULL},
	{"drop (no qi):", "skipped_no_queue_info"},
	{"drop (sig pool):", "untimed_signal_pool"},
	{"drop (ts fail):", "untimed_timestamp_failed"},
	{"drop (ts invalid):", "untimed_timestamp_invalid"},
	{"recorded OK:", "recorded"},
};

/* Both sides of the check. */
struct balance {
	int64_t injected, own_read, own_seen, recorded, untimed, outstanding;
	int64_t without_signal; /* of the untimed ones: the packet had no signal at all */
};

static int64_t counter(json_t *counters, const char *name)
{
	return (int64_t)json_integer_value(json_object_get(counters, name));
}

static struct balance weigh(json_t *process)
{
	json_t *counters = json_object_get(process, "counters");
	struct balance b = {
		.injected = counter(counters, "signals_injected"),
		.own_read = counter(counters, "own_signals_read"),
		.own_seen = counter(counters, "own_signals_seen"),
		.recorded = counter(counters, "recorded"),
		.without_signal = wrap_plus(counter(counters, "untimed_signal_pool"),
			counter(counters, "untimed_unstamped")),
		.outstanding = counter(process, "outstanding"),
	};
	const char *name;
	json_t *value;

	json_object_foreach(counters, name, value)
	{
		if (!strncmp(name, "untimed_", strlen("untimed_")))
			b.untimed = wrap_plus(b.untimed, (int64_t)json_integer_value(value));
	}
	return b;
}

/*
 * "own signals read" counts those whose times were read. A signal that is shared or still in use
 * was only seen, and a packet without any signal is not on the left side. With both of these added
 * to it, the two sides must always be equal.
 */
static bool is_balanced(const struct balance *b)
{
	return wrap_plus(wrap_plus(b->injected, b->own_seen), b->without_signal) ==
	       wrap_plus(wrap_plus(b->recorded, b->untimed), b->outstanding);
}

static void show_check(const struct balance *b, FILE *to)
{
	int64_t unread = wrap_minus(b->own_seen, b->own_read);

	fprintf(to, "  check: signals injected + own signals read = recorded OK + untimed + "
		    "outstanding\n");
	fprintf(to, "         %" PRId64 " + %" PRId64, b->injected, b->own_read);
	if (unread)
		fprintf(to, " + %" PRId64 " own, not read", unread);
	if (b->without_signal)
		fprintf(to, " + %" PRId64 " without a signal", b->without_signal);
	fprintf(to, " %s %" PRId64 " + %" PRId64 " + %" PRId64 ": %s\n",
		is_balanced(b) ? "=" : "!=", b->recorded, b->untimed, b->outstanding,
		is_balanced(b) ? "OK" : "DIFFERS");
}

static void show_process(json_t *process, FILE *to)
{
	json_t *counters = json_object_get(process, "counters");
	json_t *rank = json_object_get(process, "rank");
	struct balance b = weigh(process);
	const char *name;
	json_t *value;

	fprintf(to, "\n=== rtl diagnostic (PID %" JSON_INTEGER_FORMAT ") ===\n",
		json_integer_value(json_object_get(process, "pid")));
	if (json_is_integer(rank))
		fprintf(to, "  rank:                %" JSON_INTEGER_FORMAT "\n",
			json_integer_value(rank));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		fprintf(to, "  %-20s %" PRId64 "\n", lines[i].label,
			lines[i].counter ? counter(counters, lines[i].counter) : 0);
	fprintf(to, "  %-20s %" PRId64 "\n", "untimed:", b.untimed);
	fprintf(to, "  %-20s %" PRId64 "\n", "outstanding:", b.outstanding);
	show_check(&b, to);
	fprintf(to, "  --- all counters ---\n");
	json_object_foreach(counters, name, value)
	{
		CLEANUP(free_p) char *safe = render_escape(name, strlen(name));

		fprintf(to, "  %-27s %" JSON_INTEGER_FORMAT "\n", safe ? safe : "",
			json_integer_value(value));
	}
	fprintf(to, "====================================\n");
}

static int set_integer(json_t *object, const char *key, int64_t value)
{
	return json_object_set_new(object, key, json_integer(value)) ? -ENOMEM : 0;
}

/* Names in a damaged file may not be UTF-8, which jansson refuses. */
static int set_counter(json_t *counters, const char *name, int64_t value)
{
	json_t *key = render_json_text(name, strlen(name));
	int r = key ? set_integer(counters, json_string_value(key), value) : -ENOMEM;

	json_decref(key);
	return r;
}

/* The processes of a document, found by their ids. */
struct diagnostics {
	json_t *array;
	struct idmap index_of;
};

static void diagnostics_done(struct diagnostics *d)
{
	idmap_done(&d->index_of);
}

/* Returns NULL if the file is damaged. */
static json_t *find_process(const struct diagnostics *d, int64_t id)
{
	uint32_t at = idmap_find(&d->index_of, id);

	return at == IDMAP_NONE ? NULL : json_array_get(d->array, at);
}

static int add_counters(struct query *query, const struct diagnostics *d)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "counters", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		json_t *process = find_process(d, query_integer(rows, 0));

		r = 0;
		if (process && query_text(rows, 1))
			r = set_counter(json_object_get(process, "counters"), query_text(rows, 1),
				query_integer(rows, 2));
	}
	return r;
}

/* Adds the outstanding dispatches and, for a process that is alive, those in flight. */
static int add_outstanding(struct query *query, const struct diagnostics *d)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "ledger", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		json_t *process = find_process(d, query_integer(rows, 0));

		r = process ? set_integer(process, "outstanding",
				      wrap_plus(counter(process, "outstanding"),
					      wrap_plus(query_integer(rows, 6),
						      query_integer(rows, 9))))
			    : 0;
	}
	return r;
}

static int add_process(struct diagnostics *d, const struct query_rows *rows)
{
	int64_t id = query_integer(rows, 0);
	uint32_t *at = idmap_at(&d->index_of, id);
	json_t *process = json_object();
	int r;

	/* The container takes it over even if it fails. */
	if (json_array_append_new(d->array, process) || !at)
		return -ENOMEM;
	*at = (uint32_t)json_array_size(d->array) - 1;
	if (json_object_set_new(process, "counters", json_object()))
		return -ENOMEM;
	r = set_integer(process, "process_id", id);
	if (!r)
		r = set_integer(process, "pid", query_integer(rows, 4));
	if (!r && json_object_set_new(process, "rank",
			  query_is_null(rows, 1) ? json_null()
						 : json_integer(query_integer(rows, 1))))
		r = -ENOMEM;
	return r ? r : set_integer(process, "outstanding", 0);
}

static int add_balances(const struct diagnostics *d)
{
	json_t *process;
	size_t i;

	json_array_foreach(d->array, i, process)
	{
		struct balance balance = weigh(process);

		if (json_object_set_new(process, "balanced", json_boolean(is_balanced(&balance))))
			return -ENOMEM;
	}
	return 0;
}

int diagnostic_put_json(struct query *query, json_t *document)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	CLEANUP(diagnostics_done) struct diagnostics d = {.array = json_array()};
	int r;

	if (json_object_set_new(document, "counters", d.array))
		return -ENOMEM;
	r = query_ask(query, "processes", &rows);
	while (!r && (r = query_next(rows)) > 0)
		r = add_process(&d, rows);
	if (!r)
		r = add_counters(query, &d);
	if (!r)
		r = add_outstanding(query, &d);
	return r ? r : add_balances(&d);
}

int diagnostic_show(struct query *query, FILE *to)
{
	json_t *document = json_object();
	json_t *process;
	size_t i;
	int r = document ? diagnostic_put_json(query, document) : -ENOMEM;

	if (!r)
		json_array_foreach(json_object_get(document, "counters"), i, process)
			show_process(process, to);
	json_decref(document);
	return r;
}
