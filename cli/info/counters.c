// SPDX-License-Identifier: MIT
#include "cli/info/counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
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

/* A counter's name of a file may have any length; those of rtl have fewer columns. */
#define MATRIX_LABEL_COLUMNS 30

static void json_free_p(json_t **document)
{
	json_decref(*document);
}

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

#define CHECK_LEFT  "signals injected + own signals read"
#define CHECK_RIGHT "= recorded OK + untimed + outstanding"
static const char check[] = CHECK_LEFT " " CHECK_RIGHT;
/* "  check: " and the text in one line. */
#define CHECK_COLUMNS (9u + sizeof(check) - 1)

static void show_sums(const struct balance *b, FILE *to)
{
	int64_t unread = wrap_minus(b->own_seen, b->own_read);

	fprintf(to, "%" PRId64 " + %" PRId64, b->injected, b->own_read);
	if (unread)
		fprintf(to, " + %" PRId64 " own, not read", unread);
	if (b->without_signal)
		fprintf(to, " + %" PRId64 " without a signal", b->without_signal);
	fprintf(to, " %s %" PRId64 " + %" PRId64 " + %" PRId64 ": %s\n",
		is_balanced(b) ? "=" : "!=", b->recorded, b->untimed, b->outstanding,
		is_balanced(b) ? "OK" : "DIFFERS");
}

static void show_all(json_t *counters, FILE *to)
{
	const char *name;
	json_t *value;

	fprintf(to, "  --- all counters ---\n");
	json_object_foreach(counters, name, value)
	{
		CLEANUP(free_p) char *safe = render_escape(name, strlen(name));

		fprintf(to, "  %-27s %" JSON_INTEGER_FORMAT "\n", safe ? safe : "",
			json_integer_value(value));
	}
}

/* The predecessor's block, whose form is fixed, and in it, or not, all counters by their own names.
 */
static void show_process(json_t *process, bool has_all, size_t width, FILE *to)
{
	json_t *counters = json_object_get(process, "counters");
	json_t *rank = json_object_get(process, "rank");
	struct balance b = weigh(process);

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
	fprintf(to, "  check: %s%s%s\n         ", CHECK_LEFT,
		width && width < CHECK_COLUMNS ? "\n         " : " ", CHECK_RIGHT);
	show_sums(&b, to);
	if (has_all)
		show_all(counters, to);
	fprintf(to, "====================================\n");
}

/* A counter of all processes. */
struct matrix_row {
	char *label;
	int64_t *values; /* of each process */
	bool is_alike;	 /* all values are equal */
};

struct matrix {
	json_t *processes;
	size_t columns; /* processes */
	size_t *widths; /* of each column */
	struct matrix_row *rows;
	size_t count, room;
	size_t label_width;
};

static void matrix_done(struct matrix *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->rows[i].label);
		free(m->rows[i].values);
	}
	free(m->rows);
	free(m->widths);
}

static json_t *process_at(const struct matrix *m, size_t at)
{
	return json_array_get(m->processes, at);
}

/* Returns a row of zeros with its label, or NULL if memory is short. */
static struct matrix_row *add_row(struct matrix *m, const char *label)
{
	CLEANUP(free_p) char *safe = render_escape(label, strlen(label));
	struct matrix_row *row, *grown;

	if (m->count == m->room) {
		grown = xreallocarray(m->rows, m->room * 2 + 64, sizeof(*m->rows));
		m->rows = grown;
		m->room = m->room * 2 + 64;
	}
	row = m->rows + m->count;
	*row = (struct matrix_row){
		.label = safe ? render_cut_middle(safe, MATRIX_LABEL_COLUMNS) : NULL,
		.values = xcalloc(m->columns, sizeof(*row->values))};
	m->count++;
	return row->label && row->values ? row : NULL;
}

static void add_counter_row(struct matrix *m, const char *label, const char *name)
{
	struct matrix_row *row = add_row(m, label);

	for (size_t i = 0; row && name && i < m->columns; i++)
		row->values[i] = counter(json_object_get(process_at(m, i), "counters"), name);
}

static bool is_in_lines(const char *name)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (lines[i].counter && !strcmp(lines[i].counter, name))
			return true;
	return false;
}

static int compare_labels(const void *a, const void *b)
{
	const struct matrix_row *x = a, *y = b;

	return strcmp(x->label, y->label);
}

/* Adds the counters for which the predecessor had no name, by name. */
static void add_other_rows(struct matrix *m)
{
	CLEANUP(json_free_p) json_t *names = json_object();
	size_t first = m->count;
	const char *name;
	json_t *value;

	for (size_t i = 0; i < m->columns; i++)
		json_object_update(names, json_object_get(process_at(m, i), "counters"));
	json_object_foreach(names, name, value)
	{
		if (!is_in_lines(name))
			add_counter_row(m, name, name);
	}
	if (m->count > first)
		qsort(m->rows + first, m->count - first, sizeof(*m->rows), compare_labels);
}

static void add_sum_rows(struct matrix *m)
{
	struct matrix_row *row = add_row(m, "untimed:");

	for (size_t i = 0; row && i < m->columns; i++)
		row->values[i] = weigh(process_at(m, i)).untimed;
	row = row ? add_row(m, "outstanding:") : NULL;
	for (size_t i = 0; row && i < m->columns; i++)
		row->values[i] = counter(process_at(m, i), "outstanding");
}

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Writes the heading of a column; both kinds are also measured with it. */
static void name_rank(json_t *process, char ret[24])
{
	json_t *rank = json_object_get(process, "rank");

	snprintf(ret, 24, "-");
	if (json_is_integer(rank))
		snprintf(ret, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(rank));
}

static const char *check_word(json_t *process)
{
	struct balance b = weigh(process);

	return is_balanced(&b) ? "OK" : "DIFFERS";
}

static void measure(struct matrix *m)
{
	char text[24];

	for (size_t i = 0; i < m->columns; i++) {
		json_t *process = process_at(m, i);

		name_rank(process, text);
		m->widths[i] = max_size(strlen(text), strlen(check_word(process)));
		m->widths[i] = max_size(m->widths[i],
			(size_t)snprintf(NULL, 0, "%" PRId64, counter(process, "pid")));
	}
	for (size_t n = 0; n < m->count; n++) {
		struct matrix_row *row = m->rows + n;

		m->label_width = max_size(m->label_width, render_width(row->label));
		row->is_alike = true;
		for (size_t i = 1; i < m->columns; i++)
			row->is_alike = row->is_alike && row->values[i] == row->values[0];
		for (size_t i = 0; !row->is_alike && i < m->columns; i++)
			m->widths[i] = max_size(m->widths[i],
				(size_t)snprintf(NULL, 0, "%" PRId64, row->values[i]));
	}
}

static void put_label(const struct matrix *m, const char *label, FILE *to)
{
	fprintf(to, "  %s%*s", label, (int)(m->label_width - render_width(label)), "");
}

/* Writes the processes from @first to before @end, and the counters that are not all alike. */
static void put_panel(const struct matrix *m, size_t first, size_t end, FILE *to)
{
	char text[24];

	put_label(m, "rank:", to);
	for (size_t i = first; i < end; i++) {
		name_rank(process_at(m, i), text);
		fprintf(to, "  %*s", (int)m->widths[i], text);
	}
	fputc('\n', to);
	put_label(m, "PID:", to);
	for (size_t i = first; i < end; i++)
		fprintf(to, "  %*" PRId64, (int)m->widths[i], counter(process_at(m, i), "pid"));
	fputc('\n', to);
	for (size_t n = 0; n < m->count; n++) {
		if (m->rows[n].is_alike)
			continue;
		put_label(m, m->rows[n].label, to);
		for (size_t i = first; i < end; i++)
			fprintf(to, "  %*" PRId64, (int)m->widths[i], m->rows[n].values[i]);
		fputc('\n', to);
	}
	put_label(m, "check:", to);
	for (size_t i = first; i < end; i++)
		fprintf(to, "  %*s", (int)m->widths[i], check_word(process_at(m, i)));
	fputc('\n', to);
}

/* Returns where the panel ends that begins with the process @first. */
static size_t end_of_panel(const struct matrix *m, size_t first, size_t width)
{
	size_t used = 2 + m->label_width, end = first;

	do
		used += 2 + m->widths[end++];
	while (end < m->columns && (!width || used + 2 + m->widths[end] <= width));
	return end;
}

/* Writes the check, and the sums of the processes in which the two sides differ. */
static void put_checks(const struct matrix *m, size_t width, FILE *to)
{
	size_t balanced = 0;
	char text[160];

	for (size_t i = 0; i < m->columns; i++) {
		struct balance b = weigh(process_at(m, i));

		balanced += is_balanced(&b);
	}
	snprintf(text, sizeof(text), "check: %s: OK in %zu of %zu processes", check, balanced,
		m->columns);
	fputs("  ", to);
	render_put_sentence(to, text, 2, width);
	for (size_t i = 0; i < m->columns; i++) {
		struct balance b = weigh(process_at(m, i));

		if (is_balanced(&b))
			continue;
		name_rank(process_at(m, i), text);
		fprintf(to, "  rank %s, PID %" PRId64 ": ", text, counter(process_at(m, i), "pid"));
		show_sums(&b, to);
	}
}

static void put_matrix(const struct matrix *m, size_t width, FILE *to)
{
	bool has_alike = false;

	fprintf(to, "\n=== rtl diagnostic (%zu processes) ===\n", m->columns);
	for (size_t i = 0, end; i < m->columns; i = end) {
		end = end_of_panel(m, i, width);
		put_panel(m, i, end, to);
		fputc('\n', to);
	}
	put_checks(m, width, to);
	for (size_t n = 0; n < m->count; n++) {
		if (!m->rows[n].is_alike)
			continue;
		if (!has_alike)
			fprintf(to, "  --- the same in all processes ---\n");
		has_alike = true;
		put_label(m, m->rows[n].label, to);
		fprintf(to, "  %" PRId64 "\n", m->rows[n].values[0]);
	}
	fprintf(to, "====================================\n");
}

/* Shows counters by process, in panels of at most @width columns (0: one panel). What is the same
 * in all processes is shown once. */
static void show_matrix(json_t *processes, size_t width, FILE *to)
{
	CLEANUP(matrix_done)
	struct matrix m = {.processes = processes, .columns = json_array_size(processes)};

	m.widths = xcalloc(m.columns, sizeof(*m.widths));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		add_counter_row(&m, lines[i].label, lines[i].counter);
	add_sum_rows(&m);
	add_other_rows(&m);
	measure(&m);
	put_matrix(&m, width, to);
}

static void set_integer(json_t *object, const char *key, int64_t value)
{
	json_object_set_new(object, key, json_integer(value));
}

/* Names in a damaged file may not be UTF-8, which jansson refuses. */
static void set_counter(json_t *counters, const char *name, int64_t value)
{
	json_t *key = render_json_text(name, strlen(name));

	set_integer(counters, json_string_value(key), value);
	json_decref(key);
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
	int r = 0;

	QUERY_EACH (r, query, "counters", rows) {
		json_t *process = find_process(d, query_integer(rows, 0));

		if (process && query_text(rows, 1))
			set_counter(json_object_get(process, "counters"), query_text(rows, 1),
				query_integer(rows, 2));
	}
	return r;
}

/* Adds the outstanding dispatches and, for a process that is alive, those in flight. */
static int add_outstanding(struct query *query, const struct diagnostics *d)
{
	int r = 0;

	QUERY_EACH (r, query, "ledger", rows) {
		json_t *process = find_process(d, query_integer(rows, 0));

		if (process)
			set_integer(process, "outstanding",
				wrap_plus(counter(process, "outstanding"),
					wrap_plus(query_integer(rows, 6), query_integer(rows, 9))));
	}
	return r;
}

static void add_process(struct diagnostics *d, const struct query_rows *rows)
{
	int64_t id = query_integer(rows, 0);
	uint32_t *at = idmap_at(&d->index_of, id);
	json_t *process = json_object();

	json_array_append_new(d->array, process);
	*at = (uint32_t)json_array_size(d->array) - 1;
	json_object_set_new(process, "counters", json_object());
	set_integer(process, "process_id", id);
	set_integer(process, "pid", query_integer(rows, 4));
	json_object_set_new(process, "rank",
		query_is_null(rows, 1) ? json_null() : json_integer(query_integer(rows, 1)));
	set_integer(process, "outstanding", 0);
}

static void add_balances(const struct diagnostics *d)
{
	json_t *process;
	size_t i;

	json_array_foreach(d->array, i, process)
	{
		struct balance balance = weigh(process);

		json_object_set_new(process, "balanced", json_boolean(is_balanced(&balance)));
	}
}

int diagnostic_put_json(struct query *query, json_t *document)
{
	CLEANUP(diagnostics_done) struct diagnostics d = {.array = json_array()};
	int r = 0;

	json_object_set_new(document, "counters", d.array);
	QUERY_EACH (r, query, "processes", rows)
		add_process(&d, rows);
	if (!r)
		r = add_counters(query, &d);
	if (!r)
		r = add_outstanding(query, &d);
	if (!r)
		add_balances(&d);
	return r;
}

int diagnostic_show(struct query *query, size_t width, FILE *to)
{
	CLEANUP(json_free_p) json_t *document = json_object();
	json_t *processes, *process;
	bool is_single;
	size_t i;
	int r = diagnostic_put_json(query, document);

	if (r)
		return r;
	processes = json_object_get(document, "counters");
	is_single = json_array_size(processes) == 1;
	json_array_foreach(processes, i, process) show_process(process, is_single, width, to);
	if (json_array_size(processes) > 1)
		show_matrix(processes, width, to);
	return 0;
}
