// SPDX-License-Identifier: MIT
#include "cli/live/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/output/table.h"
#include "proto/base/cleanup.h"

static const struct render_column columns[] = {
	{"session", NULL, RENDER_TEXT},
	{"uid", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"state", "STATE", RENDER_TEXT},
	{"kernels_per_s", "KERNELS/s", RENDER_COUNT},
	{"load_pct", "LOAD %", RENDER_TENTHS},
	{NULL, "", RENDER_NOTE},
	{"mean_ns", "MEAN us", RENDER_NS_IN_US},
	{"dispatched", "KERNELS", RENDER_COUNT},
	{"dropped", "DROPS", RENDER_COUNT},
	{NULL, "", RENDER_NOTE},
	{"records", "RECORDS", RENDER_TEXT},
	{"idle_ns", "IDLE s", RENDER_NS_IN_S},
	{"pending", "PENDING", RENDER_COUNT},
	{"untimed", "UNTIMED", RENDER_COUNT},
	{"stored", NULL, RENDER_COUNT},
	{"skipped", NULL, RENDER_COUNT},
	{"outstanding", NULL, RENDER_COUNT},
	{"busy_ns", NULL, RENDER_ID},
	{"last_dispatch_ns", NULL, RENDER_ID},
	{"exe", "PROGRAM", RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static struct render_value rounded_or_null(double value)
{
	return isfinite(value) ? render_integer((int64_t)llround(value)) : render_null();
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

/* Returns a bar of ten marks, which is easier to see than a number. */
static const char *load_bar(double percent)
{
	static const char full[] = "||||||||||..........";
	static char bars[11][11];
	int filled;

	if (!isfinite(percent))
		return NULL;
	filled = percent >= 95 ? 10 : percent <= 0 ? 0 : (int)((percent + 5) / 10);
	return memcpy(bars[filled], full + 10 - filled, 10);
}

static void fill_row(
	const struct sample *now, const struct sample_row *r, struct render_value ret[COLUMNS])
{
	const struct sample_session *session = now->sessions + r->session;
	bool has_idle = r->has_last && r->time_ns >= r->last_ns;

	*ret++ = render_text(session->name);
	*ret++ = render_optional(session->has_uid, session->uid);
	*ret++ = render_optional(r->has_rank, r->rank);
	*ret++ = render_optional(r->has_gpu, r->gpu_id);
	*ret++ = render_integer(r->pid);
	*ret++ = render_integer((int64_t)r->process_id);
	*ret++ = render_text(r->state);
	*ret++ = render_real(r->kernels_per_s);
	*ret++ = render_real(r->load_pct);
	*ret++ = render_text(load_bar(r->load_pct));
	*ret++ = rounded_or_null(r->mean_ns);
	*ret++ = render_integer((int64_t)r->dispatched);
	*ret++ = render_integer((int64_t)r->dropped);
	*ret++ = render_text(r->dropped ? "!" : NULL);
	*ret++ = render_text(r->records);
	*ret++ = render_optional(has_idle, (int64_t)(r->time_ns - r->last_ns));
	*ret++ = render_integer((int64_t)r->pending);
	*ret++ = render_integer((int64_t)r->untimed);
	*ret++ = render_integer((int64_t)r->stored);
	*ret++ = render_integer((int64_t)r->skipped);
	*ret++ = render_integer((int64_t)r->outstanding);
	*ret++ = render_integer((int64_t)r->busy_ns);
	*ret++ = render_optional(r->has_last, (int64_t)r->last_ns);
	*ret++ = render_text(base_name(r->exe));
	*ret++ = render_integer(session->is_simulated);
}

/* ---- lines ----------------------------------------------------------------------------- */

void stat_view_free_p(struct stat_view **view)
{
	if (!*view)
		return;
	for (size_t i = 0; i < (*view)->count; i++)
		free((*view)->lines[i].text);
	free((*view)->lines);
	free(*view);
	*view = NULL;
}

/* Takes over @text. */
static void take_line(struct stat_view *view, enum stat_style style, char *text)
{
	view->lines = grow_by_one(view->lines, view->count, sizeof(*view->lines));
	view->lines[view->count++] = (struct stat_line){text, style};
}

__attribute__((format(printf, 3, 4))) static void put_line(
	struct stat_view *view, enum stat_style style, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		memory_fail();
	take_line(view, style, render_escape(text, (size_t)n));
}

/* Says that the node has more sessions, of other users, than are shown. */
static void put_node(struct stat_view *view, const struct sample *now)
{
	if (now->has_node && now->node_sessions > now->session_count)
		put_line(view, STAT_PLAIN, "all users of this node: %u sessions, %u processes",
			now->node_sessions, now->node_processes);
}

static void put_head(struct stat_view *view, const struct sample *now, uint64_t interval_ns)
{
	char host[65] = "", clock[16] = "", every[32] = "";
	time_t seconds = time(NULL);
	struct tm tm;

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	if (localtime_r(&seconds, &tm))
		strftime(clock, sizeof(clock), "%T", &tm);
	if (interval_ns)
		snprintf(every, sizeof(every), "  every %g s", (double)interval_ns / 1e9);
	put_line(view, STAT_HEAD, "rtl stat  %s  %s%s  %u collector%s  %zu session%s", host, clock,
		every, now->collectors, now->collectors == 1 ? "" : "s", now->session_count,
		now->session_count == 1 ? "" : "s");
	if (now->trouble)
		put_line(view, STAT_LOSSY, "! %s", now->trouble);
	put_node(view, now);
}

/* Returns the sum of all rows whose rate is known; NAN if there is none. */
static double sum_rates(const struct sample *now, size_t session)
{
	double sum = NAN;

	for (size_t i = 0; i < now->row_count; i++)
		if (now->rows[i].session == session && isfinite(now->rows[i].kernels_per_s))
			sum = (isnan(sum) ? 0 : sum) + now->rows[i].kernels_per_s;
	return sum;
}

/*
 * A session that is closed or has not begun: its collector has no figures, but may have a last
 * line.
 */
static void put_uncounted(struct stat_view *view, const struct sample_session *s)
{
	const char *name = sample_shown_name(s);

	put_line(view, STAT_SESSION, "%s%s%s%s%s%s", name ? name : "-",
		s->is_closed ? "  closed" : "", s->line ? "  " : "", s->line ? s->line : "",
		s->command ? "  " : "", s->command ? s->command : "");
}

/* What does not fit into one line stands on several: the name, the figures, the command. */
static void put_counted(
	struct stat_view *view, const struct sample_session *s, const char *figures, size_t width)
{
	const enum stat_style style = s->is_missing ? STAT_LOSSY : STAT_SESSION;
	const char *simulated = s->is_simulated ? "SIMULATED  " : "";
	const char *shown = sample_shown_name(s), *name = shown ? shown : "-";
	const char *command = s->command ? s->command : "";
	size_t before = strlen(simulated) + strlen(name) + 2 + strlen(figures);

	if (!width || before + 2 + strlen(command) <= width) {
		put_line(view, style, "%s%s  %s%s%s", simulated, name, figures,
			*command ? "  " : "", command);
		return;
	}
	if (before <= width) {
		put_line(view, style, "%s%s  %s", simulated, name, figures);
	} else {
		put_line(view, style, "%s%s", simulated, name);
		put_line(view, style, "%s", figures);
	}
	if (*command)
		put_line(view, STAT_PLAIN, "%s", command);
}

static void put_session(
	struct stat_view *view, const struct sample *now, size_t session, size_t width)
{
	const struct sample_session *s = now->sessions + session;
	double rate = sum_rates(now, session);
	CLEANUP(free_p) char *kernels = render_count((int64_t)s->dispatched);
	CLEANUP(free_p) char *lost = render_count((int64_t)s->lost);
	CLEANUP(free_p) char *per_s = render_count(isnan(rate) ? 0 : llround(rate));
	CLEANUP(free_p) char *figures = NULL;

	put_line(view, STAT_PLAIN, "%s", "");
	if (!s->has_counts) {
		put_uncounted(view, s);
		return;
	}
	figures = xasprintf("%u of %u processes live  %s kernels%s%s%s  %s lost%s%s%s",
		s->live_processes, s->processes, kernels, isnan(rate) ? "" : " (",
		isnan(rate) ? "" : per_s, isnan(rate) ? "" : "/s)", lost, s->is_missing ? " !" : "",
		s->is_closed ? "  closed" : "",
		s->has_uid && s->uid != getuid() ? "  of another user" : "");
	put_counted(view, s, figures, width);
	/* What is missing, where and since when, as rtl summary would say it. */
	if (s->is_missing && s->line)
		put_line(view, STAT_LOSSY, "%s", s->line);
	if (s->hang)
		put_line(view, STAT_LOSSY, "%s", s->hang);
}

/* Formats one table of all rows of a session and splits it into lines. */
static void put_table(struct stat_view *view, const struct sample *now,
	const struct sample_row *const *rows, size_t count, size_t width)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_value values[COLUMNS];
	size_t at = 0;
	FILE *memory = xmemstream(&text);

	render = render_new(memory, RENDER_TABLE, columns, COLUMNS);
	render_set_width(render, width);
	for (size_t i = 0; i < count; i++) {
		fill_row(now, rows[i], values);
		render_row(render, values);
	}
	render_finish(render);
	xfclose(memory);
	for (char *line = text; *line; at++) {
		size_t length = strcspn(line, "\n");
		/* The first line is the title; row i is line i + 1. */
		enum stat_style style = !at				       ? STAT_TITLE
					: at <= count && rows[at - 1]->dropped ? STAT_LOSSY
									       : STAT_PLAIN;

		take_line(view, style, xstrndup(line, length));
		line += length + (line[length] == '\n');
	}
}

static double sort_key(const struct sample_row *row, enum stat_order order)
{
	double key = 0;

	if (order == STAT_BY_RATE)
		key = row->kernels_per_s;
	else if (order == STAT_BY_LOAD)
		key = -row->load_pct;
	else if (order == STAT_BY_DROPS)
		key = -(double)row->dropped;
	return isnan(key) ? INFINITY : key;
}

static int compare_keys(const void *a, const void *b, void *order)
{
	const struct sample_row *const *x = a, *const *y = b;
	double p = sort_key(*x, *(enum stat_order *)order);
	double q = sort_key(*y, *(enum stat_order *)order);

	if (p < q || p > q)
		return p < q ? -1 : 1;
	/* Rows are sorted by rank. */
	return (*x > *y) - (*x < *y);
}

static void put_rows(struct stat_view *view, const struct sample *now, size_t session,
	enum stat_order order, size_t width)
{
	CLEANUP(free_p) const struct sample_row **rows = xcalloc(now->row_count + 1, sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < now->row_count; i++)
		if (now->rows[i].session == session)
			rows[count++] = now->rows + i;
	if (!count)
		return;
	qsort_r(rows, count, sizeof(*rows), compare_keys, &order);
	put_table(view, now, rows, count, width);
}

struct stat_view *stat_view_new(
	const struct sample *now, uint64_t interval_ns, enum stat_order order, size_t width)
{
	struct stat_view *view = xcalloc(1, sizeof(*view));

	put_head(view, now, interval_ns);
	if (!now->session_count && now->collectors)
		put_line(view, STAT_PLAIN, "no sessions; rtl run starts one");
	for (size_t i = 0; i < now->session_count; i++) {
		put_session(view, now, i, width);
		put_rows(view, now, i, order, width);
	}
	return view;
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *text(const char *string)
{
	return render_json_text(string, string ? strlen(string) : 0);
}

static json_t *counted(const struct sample_session *s, uint64_t count)
{
	return s->has_counts ? json_integer((json_int_t)count) : json_null();
}

static json_t *session_json(const struct sample_session *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "session", text(s->name));
	json_object_set_new(o, "job", text(s->job));
	json_object_set_new(o, "database", text(s->database));
	json_object_set_new(o, "command", text(s->command));
	json_object_set_new(o, "line", text(s->line));
	json_object_set_new(o, "hang", text(s->hang));
	json_object_set_new(o, "hang_ns", s->hang ? json_integer(s->hang_ns) : json_null());
	json_object_set_new(o, "socket", text(s->socket));
	json_object_set_new(o, "uid", s->has_uid ? json_integer(s->uid) : json_null());
	json_object_set_new(o, "closed", json_boolean(s->is_closed));
	json_object_set_new(
		o, "simulated", s->has_counts ? json_boolean(s->is_simulated) : json_null());
	json_object_set_new(o, "processes", counted(s, s->processes));
	json_object_set_new(o, "live_processes", json_integer(s->live_processes));
	json_object_set_new(o, "dispatched", counted(s, s->dispatched));
	json_object_set_new(o, "stored", counted(s, s->stored));
	json_object_set_new(o, "lost", counted(s, s->lost));
	json_object_set_new(
		o, "missing", s->has_counts ? json_boolean(s->is_missing) : json_null());
	return o;
}

static bool is_simulated(const struct sample *now)
{
	for (size_t i = 0; i < now->session_count; i++)
		if (now->sessions[i].is_simulated)
			return true;
	return false;
}

static json_t *node_json(const struct sample *now)
{
	return now->has_node
		       ? json_pack("{s:I, s:I, s:I}", "sessions", (json_int_t)now->node_sessions,
				 "processes", (json_int_t)now->node_processes, "connections",
				 (json_int_t)now->node_connections)
		       : json_null();
}

json_t *stat_view_json(const struct sample *now)
{
	json_t *o = json_object(), *sessions = json_array(), *rows = json_array();
	struct render_value values[COLUMNS];

	for (size_t i = 0; i < now->session_count; i++)
		json_array_append_new(sessions, session_json(now->sessions + i));
	for (size_t i = 0; i < now->row_count; i++) {
		fill_row(now, now->rows + i, values);
		json_array_append_new(rows, render_json_row(columns, COLUMNS, values));
	}
	json_object_set_new(o, "schema", json_integer(1));
	json_object_set_new(o, "time_ns", json_integer((json_int_t)now->time_ns));
	json_object_set_new(o, "simulated", json_boolean(is_simulated(now)));
	json_object_set_new(o, "collectors", json_integer(now->collectors));
	json_object_set_new(o, "trouble", text(now->trouble));
	json_object_set_new(o, "node", node_json(now));
	json_object_set_new(o, "sessions", sessions);
	json_object_set_new(o, "ranks", rows);
	return o;
}
