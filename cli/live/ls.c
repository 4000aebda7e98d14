// SPDX-License-Identifier: MIT
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/memory.h"
#include "cli/base/command.h"
#include "cli/database/session/find_session.h"
#include "cli/base/array.h"
#include "cli/base/options.h"
#include "cli/live/path_set.h"
#include "cli/database/session/index.h"
#include "cli/collector/sample.h"
#include "cli/base/message.h"
#include "cli/base/user_name.h"
#include "cli/database/session/verb.h"
#include "cli/database/session/verdict.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/settings/selection.h"

/* Opening so few files takes less time than reading the index. */
#define LS_FEW	      16u
#define LS_USER_BYTES (USER_NAME_BYTES + 32)

enum { KEY_FAILED = 0x100, KEY_SINCE };

struct ls_options {
	enum render_format format;
	const char *socket;
	size_t newest; /* SIZE_MAX for all */
	bool has_user, is_failed;
	uid_t user;
	uint64_t since_realtime_ns; /* 0 for all */
};

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "a document with one object a session", 0},
	{"csv", 'c', NULL, 0, "comma-separated values with a title line", 0},
	{"newest", 'n', "COUNT", 0, "only the COUNT sessions that were written to last", 0},
	{"user", 'u', "USER", 0, "only sessions of this user, by name or uid", 0},
	{"since", KEY_SINCE, "TIME", 0,
		"only sessions that began since: 2h, 90m, or a local day or time, as 2026-11-26 or "
		"\"2026-11-26 18:00\"",
		0},
	{"failed", KEY_FAILED, NULL, 0,
		"only sessions whose command or process was killed or ended with a status other "
		"than 0",
		0},
	{"socket", 'S', "PATH", 0, "ask only this collector", 0},
	{0},
};

static uid_t parse_user(const char *text)
{
	const struct passwd *user = getpwnam(text);
	unsigned long long uid;
	char *end;

	if (user)
		return user->pw_uid;
	uid = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || uid >= UINT32_MAX)
		opts_error("--user %s: no such user", text);
	return (uid_t)uid;
}

/* A time of this place; 0: it is none. */
static uint64_t parse_date(const char *text)
{
	static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *end = strptime(text, formats[i], &tm);
		time_t at = end && !*end ? mktime(&tm) : -1;

		if (at > 0)
			return (uint64_t)at * 1000000000u;
	}
	return 0;
}

static uint64_t parse_since(const char *text)
{
	uint64_t now_ns = clock_realtime_ns(), ago_ns, at_ns = parse_date(text);

	if (at_ns)
		return at_ns;
	if (choice_parse_duration(text, &ago_ns))
		opts_error("--since %s: neither a time ago, as in 2h, nor a day or time, as in "
			   "2026-11-26 or \"2026-11-26 18:00\"",
			text);
	return ago_ns < now_ns ? now_ns - ago_ns : 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ls_options *o = state->input;

	switch (key) {
	case 'j':
		verb_take_format(&o->format, RENDER_JSON);
		return 0;
	case 'c':
		verb_take_format(&o->format, RENDER_CSV);
		return 0;
	case 'n':
		o->newest = opts_u64("newest", arg, 1, UINT32_MAX);
		return 0;
	case 'u':
		o->user = parse_user(arg);
		o->has_user = true;
		return 0;
	case KEY_SINCE:
		o->since_realtime_ns = parse_since(arg);
		return 0;
	case KEY_FAILED:
		o->is_failed = true;
		return 0;
	case 'S':
		o->socket = opts_socket(arg);
		return 0;
	case ARGP_KEY_ARG:
		opts_error("takes no argument: %s", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, NULL,
	"Sessions: those that collectors write or know, and those that lie in the state "
	"directories "
	"of this user.",
	NULL, NULL, NULL};

static const struct render_column columns[] = {
	{"session", "SESSION", RENDER_TEXT},
	{"state", "STATE", RENDER_TEXT},
	{"started", "STARTED (UTC)", RENDER_TEXT},
	{"start_realtime_ns", NULL, RENDER_ID},
	{"processes", "PROCS", RENDER_COUNT},
	{"live_processes", "LIVE", RENDER_COUNT},
	{"dispatched", "KERNELS", RENDER_COUNT},
	{"stored", NULL, RENDER_COUNT},
	{"lost", "LOST", RENDER_COUNT},
	{"simulated", "SIMULATED", RENDER_BOOL},
	{"bytes", "BYTES", RENDER_COUNT},
	{"uid", NULL, RENDER_ID},
	{"user", "USER", RENDER_TEXT},
	{"job", NULL, RENDER_TEXT},
	{"database", "DATABASE", RENDER_TEXT},
	{"command", "COMMAND", RENDER_TEXT},
	{"line", NULL, RENDER_TEXT},
	{"socket", NULL, RENDER_TEXT},
	{"removed_realtime_ns", NULL, RENDER_ID},
	{"removed_why", NULL, RENDER_TEXT},
	{"container", NULL, RENDER_TEXT},
	{"kept", NULL, RENDER_BOOL},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* For a closed session the collector knows little more than the file's path. */
static int read_counts(struct sample_session *s, struct query *query)
{
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	int64_t processes = 0;
	int r = verdict_new(query, NULL, &verdict);

	if (!r)
		r = query_number(query, "process_count", 0, &processes);
	if (r)
		return r;
	free(s->line);
	s->line = xstrdup(verdict->line);
	s->is_simulated = verdict->is_simulated;
	s->processes = (uint32_t)processes;
	s->dispatched = verdict->counts.dispatched;
	s->stored = verdict->counts.stored;
	s->lost = completeness_lost(&verdict->counts);
	s->is_missing = completeness_is_missing(&verdict->counts);
	s->bytes = query_file_bytes(query);
	s->has_counts = true;
	return 0;
}

static char *copy_text(const struct query_rows *rows, int column)
{
	const char *text = query_text(rows, column);

	return text ? xstrdup(text) : NULL;
}

static int read_file(struct sample *sample, struct query *query, const char *path)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	struct sample_session *s;
	int r = query_ask(query, "sessions", &rows);

	if (!r)
		r = query_next(rows);
	if (r <= 0)
		return r;
	s = sample_add_session(sample);
	s->name = copy_text(rows, 0);
	s->job = copy_text(rows, 1);
	s->has_uid = true;
	s->uid = (uint32_t)query_integer(rows, 2);
	s->command = copy_text(rows, 3);
	s->start_realtime_ns = (uint64_t)query_integer(rows, 6);
	s->is_closed = !query_is_null(rows, 7);
	s->database = xstrdup(path);
	return read_counts(s, query);
}

/* Like read_counts(), but without opening the file. */
static void take_counts(struct sample_session *s, const struct query_index_session *from)
{
	free(s->line);
	s->line = from->line ? xstrdup(from->line) : NULL;
	s->is_simulated = from->is_simulated;
	s->processes = from->processes;
	s->dispatched = from->dispatched;
	s->stored = from->stored;
	s->lost = from->lost;
	s->bytes = from->bytes;
	s->has_counts = true;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static bool add_known(struct sample *sample, const struct query_index_session *from)
{
	struct sample_session *s = from ? sample_add_session(sample) : NULL;

	if (!s)
		return false;
	s->name = copy(from->name);
	s->job = copy(from->job);
	s->command = copy(from->command);
	s->has_uid = true;
	s->uid = from->uid;
	s->start_realtime_ns = from->start_realtime_ns;
	s->is_closed = true;
	s->database = xstrdup(from->path);
	take_counts(s, from);
	return true;
}

/* A file that cannot be read stays in the list, with unknown counts. */
static void complete_closed(struct sample *sample, const struct query_index *index)
{
	for (size_t i = 0; i < sample->session_count; i++) {
		struct sample_session *s = sample->sessions + i;
		const struct query_index_session *known =
			s->has_counts || !s->database ? NULL : query_index_find(index, s->database);
		CLEANUP(query_free_p) struct query *query = NULL;
		char error[QUERY_ERROR_BYTES];

		if (known)
			take_counts(s, known);
		if (s->has_counts || !s->database || query_open(s->database, error, &query))
			continue;
		(void)read_counts(s, query);
	}
}

/* ---- files ---------------------------------------------------------------------------------- */

struct found {
	const char *path;
	uint64_t written_ns;
};

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return (x->written_ns < y->written_ns) - (x->written_ns > y->written_ns);
}

/* A file that cannot be read is not listed: it belongs to another user, or is no database of rtl.
 */
static bool add_file(struct sample *sample, const char *path)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	char error[QUERY_ERROR_BYTES];

	return !query_open(path, error, &query) && !read_file(sample, query, path);
}

/*
 * Opening a file takes a millisecond: of a long history, only files that are shown and are not in
 * the index are opened.
 */
static void add_files(struct sample *sample, struct path_set *known,
	const struct query_index *index, size_t newest)
{
	CLEANUP(find_files_free_p) char **paths = find_files();
	CLEANUP(free_p) struct found *found = NULL;
	size_t count = 0, capacity = 0, added = 0;

	for (char **path = paths; path && *path; path++) {
		if (path_set_has(known, *path))
			continue;
		path_set_add(known, *path);
		GROW(found, count, capacity);
		found[count++] = (struct found){.path = *path,
			.written_ns = newest < SIZE_MAX ? newest_written_ns(*path) : 0};
	}
	if (count && newest < SIZE_MAX)
		qsort(found, count, sizeof(*found), compare_found);
	for (size_t i = 0; i < count && added < newest; i++)
		added += add_known(sample, query_index_find(index, found[i].path)) ||
			 add_file(sample, found[i].path);
}

/* ---- damaged files --------------------------------------------------------------------- */

static void add_one_aside(struct sample *sample, struct path_set *known, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *end = strstr(name, ".db" FIND_ASIDE);
	struct sample_session *s;

	if (path_set_has(known, path))
		return;
	path_set_add(known, path);
	s = sample_add_session(sample);
	s->name = end ? xstrndup(name, (size_t)(end - name)) : xstrdup(name);
	s->database = xstrdup(path);
	s->is_aside = true;
}

static bool is_of_known(const struct path_set *known, const char *path)
{
	CLEANUP(free_p) char *database = xstrdup(path);
	char *end = NULL;

	for (char *at = database; at && (at = strstr(at, FIND_ASIDE)); at++)
		end = at;
	if (!end)
		return false;
	*end = '\0';
	return path_set_has_name(known, database);
}

static void add_aside_of(struct sample *sample, struct path_set *known, const char *folder)
{
	CLEANUP(find_files_free_p) char **paths = find_aside(folder);

	for (char **path = paths; path && *path; path++)
		if (!folder || is_of_known(known, *path))
			add_one_aside(sample, known, *path);
}

/*
 * Files that a collector found damaged: in the folders where it stores, and beside its databases.
 */
static void add_aside(struct sample *sample, struct path_set *known, bool has_folders)
{
	CLEANUP(path_set_done) struct path_set folders = {0};
	size_t count = sample->session_count;

	for (size_t i = 0; i < count; i++) {
		/* Read again each time, because the array may move. */
		const char *database = sample->sessions[i].database;
		const char *slash = database ? strrchr(database, '/') : NULL;
		CLEANUP(free_p)
		char *folder = slash ? xstrndup(database, (size_t)(slash - database)) : NULL;

		if (!folder || path_set_has_name(&folders, folder))
			continue;
		path_set_add(&folders, folder);
		add_aside_of(sample, known, folder);
	}
	if (has_folders)
		add_aside_of(sample, known, NULL);
}

/* ---- what was asked for -------------------------------------------------------------------- */

static bool has_failed(const struct sample_session *s)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	char error[QUERY_ERROR_BYTES];
	int64_t failed = 0;

	return s->database && !query_open(s->database, error, &query) &&
	       !query_number(query, "failed", 0, &failed) && failed;
}

static bool is_asked_for(const struct sample_session *s, const struct ls_options *o)
{
	if (o->has_user && !(s->has_uid && s->uid == o->user))
		return false;
	if (s->start_realtime_ns < o->since_realtime_ns)
		return false;
	return !o->is_failed || has_failed(s);
}

/* Swaps the sessions that were not asked for to the end, and drops them. */
static void keep_asked_for(struct sample *sample, const struct ls_options *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < sample->session_count; i++) {
		struct sample_session swapped = sample->sessions[i];

		if (!is_asked_for(&swapped, o))
			continue;
		sample->sessions[i] = sample->sessions[kept];
		sample->sessions[kept++] = swapped;
	}
	while (sample->session_count > kept)
		sample_drop_session(sample);
}

/* ---- what is shown -------------------------------------------------------------------------- */

/* Sorts the newest first; an open session has the time UINT64_MAX. */
static int compare_written(const void *a, const void *b)
{
	const struct sample_session *x = a, *y = b;

	return (x->written_ns < y->written_ns) - (x->written_ns > y->written_ns);
}

static uint64_t session_written_ns(const struct sample_session *s)
{
	if (s->removed_why)
		return s->removed_realtime_ns;
	if (s->socket && !s->is_closed)
		return UINT64_MAX;
	return s->database ? newest_written_ns(s->database) : 0;
}

static void keep_newest(struct sample *sample, size_t newest)
{
	if (sample->session_count <= newest)
		return;
	for (size_t i = 0; i < sample->session_count; i++)
		sample->sessions[i].written_ns = session_written_ns(sample->sessions + i);
	qsort(sample->sessions, sample->session_count, sizeof(*sample->sessions), compare_written);
	while (sample->session_count > newest)
		sample_drop_session(sample);
}

/* In a table a closed session that is kept has that for its state; other formats have both. */
static const char *describe_state(const struct sample_session *s, enum render_format format)
{
	if (s->is_aside)
		return "set aside";
	if (s->removed_why)
		return "removed";
	if (s->is_closed)
		return s->is_kept && format == RENDER_TABLE ? "kept" : "closed";
	/*
	 * It is open, but no collector has it, because the collector was killed; the next one will
	 * continue it.
	 */
	return s->socket ? "live" : "interrupted";
}

/* Returns text that replaces the path of a removed database in a table; NULL if it exists. */
static char *describe_removal(const struct sample_session *s, enum render_format format)
{
	time_t at = (time_t)(s->removed_realtime_ns / 1000000000);
	char when[32] = "";
	char *text = NULL;
	struct tm tm;

	if (!s->removed_why || format != RENDER_TABLE)
		return NULL;
	if (gmtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), " %F %T", &tm);
	return asprintf(&text, "removed%s: %s", when, s->removed_why) < 0 ? NULL : text;
}

/*
 * In a table the container stands beside the user, cut to what container tools show of a name.
 */
static const char *describe_user(
	const struct sample_session *s, enum render_format format, char ret[LS_USER_BYTES])
{
	char name[USER_NAME_BYTES];

	if (!s->has_uid)
		return NULL;
	snprintf(ret, LS_USER_BYTES, "%s", user_name(s->uid, name));
	if (s->container && format == RENDER_TABLE)
		snprintf(ret, LS_USER_BYTES, "%s in container %.12s", name, s->container);
	return ret;
}

static void fill_row(const struct sample_session *s, enum render_format format, const char *removal,
	char started[32], const char *user, struct render_value ret[COLUMNS])
{
	time_t start = (time_t)(s->start_realtime_ns / 1000000000);
	struct tm tm;
	bool has_start = s->start_realtime_ns && gmtime_r(&start, &tm) &&
			 strftime(started, 32, "%F %T", &tm);

	*ret++ = render_text(format == RENDER_TABLE ? sample_shown_name(s) : s->name);
	*ret++ = render_text(describe_state(s, format));
	*ret++ = render_text(has_start ? started : NULL);
	*ret++ = render_optional(has_start, (int64_t)s->start_realtime_ns);
	*ret++ = render_optional(s->has_counts, s->processes);
	*ret++ = render_integer(s->live_processes);
	*ret++ = render_optional(s->has_counts, (int64_t)s->dispatched);
	*ret++ = render_optional(s->has_counts || s->removed_why, (int64_t)s->stored);
	*ret++ = render_optional(s->has_counts, (int64_t)s->lost);
	*ret++ = render_optional(s->has_counts, s->is_simulated);
	*ret++ = render_optional(s->has_counts || s->removed_why, (int64_t)s->bytes);
	*ret++ = render_optional(s->has_uid, s->uid);
	*ret++ = render_text(user);
	*ret++ = render_text(s->job);
	*ret++ = render_text(removal ? removal : s->database);
	*ret++ = render_text(s->command);
	*ret++ = render_text(s->line);
	*ret++ = render_text(s->socket);
	*ret++ = render_optional(s->removed_why, (int64_t)s->removed_realtime_ns);
	*ret++ = render_text(s->removed_why);
	*ret++ = render_text(s->container);
	*ret++ = render_optional(!s->removed_why, s->is_kept);
}

/* The newest comes last, next to the prompt. */
static int compare(const void *a, const void *b)
{
	const struct sample_session *x = a, *y = b;

	return (x->start_realtime_ns > y->start_realtime_ns) -
	       (x->start_realtime_ns < y->start_realtime_ns);
}

static int show(const struct sample *sample, const struct ls_options *o)
{
	CLEANUP(render_free_p)
	struct render *render = render_new(stdout, o->format, columns, COLUMNS);
	struct render_value row[COLUMNS];
	char started[32], user[LS_USER_BYTES];

	render_set_width(render, render_terminal_width(STDOUT_FILENO, 0));
	if (o->format == RENDER_JSON)
		printf("{\"schema\":1,\"sessions\":");
	for (size_t i = 0; i < sample->session_count; i++) {
		CLEANUP(free_p)
		char *removal = describe_removal(sample->sessions + i, o->format);

		fill_row(sample->sessions + i, o->format, removal, started,
			describe_user(sample->sessions + i, o->format, user), row);
		render_row(render, row);
	}
	render_finish(render);
	if (o->format == RENDER_JSON)
		printf("}\n");
	return 0;
}

/* Collectors report what they have; private runs that are kept have links. */
static void mark_kept(struct sample *sample)
{
	CLEANUP(path_set_done) struct path_set kept = {0};
	CLEANUP(find_files_free_p) char **paths = find_kept();

	for (size_t i = 0; i < sample->kept_count; i++)
		path_set_add(&kept, sample->kept[i]);
	for (char **path = paths; path && *path; path++)
		path_set_add(&kept, *path);
	for (size_t i = 0; i < sample->session_count; i++) {
		struct sample_session *s = sample->sessions + i;

		s->is_kept = s->database && path_set_has(&kept, s->database);
	}
}

static bool has_filter(const struct ls_options *o)
{
	return o->has_user || o->since_realtime_ns || o->is_failed;
}

static void read_indexes(struct query_index *index)
{
	CLEANUP(find_files_free_p) char **stores = find_stores();

	for (char **store = stores; store && *store; store++)
		query_index_add(index, *store);
	query_index_sort(index);
}

/* Adds files to the sessions that collectors reported. */
static void add_all(struct sample *sample, const struct ls_options *o)
{
	CLEANUP(path_set_done) struct path_set known = {0};
	CLEANUP(query_index_done) struct query_index index = {0};

	if (!o->socket && o->newest > LS_FEW)
		read_indexes(&index);
	for (size_t i = 0; i < sample->session_count; i++)
		if (sample->sessions[i].database)
			path_set_add(&known, sample->sessions[i].database);
	if (!o->socket)
		add_files(sample, &known, &index, has_filter(o) ? SIZE_MAX : o->newest);
	add_aside(sample, &known, !o->socket);
	/* While no row is left out. */
	sample_name_sessions(sample);
	keep_asked_for(sample, o);
	keep_newest(sample, o->newest);
	complete_closed(sample, &index);
	mark_kept(sample);
}

int cmd_ls(int argc, char **argv)
{
	struct ls_options o = {.format = RENDER_TABLE, .newest = SIZE_MAX};
	CLEANUP(sample_free_p) struct sample *sample = NULL;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (sample_take_sessions(o.socket, &sample)) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	if (o.socket && !sample->collectors) {
		say("%s", sample->trouble ? sample->trouble : "no collector answers");
		return CMD_BAD_INPUT;
	}
	/* Files are listed even if there is no collector. */
	if (sample->trouble && sample->collectors)
		say("%s", sample->trouble);
	add_all(sample, &o);
	if (!sample->session_count && has_filter(&o)) {
		say("no session is of that%s%s%s; rtl ls without it lists all",
			o.has_user ? " --user" : "", o.since_realtime_ns ? " --since" : "",
			o.is_failed ? " --failed" : "");
		return CMD_BAD_INPUT;
	}
	if (sample->session_count)
		qsort(sample->sessions, sample->session_count, sizeof(*sample->sessions), compare);
	else if (o.format == RENDER_TABLE) {
		say("no sessions; rtl run starts one");
		return CMD_OK;
	}
	if (!show(sample, &o))
		return CMD_OK;
	say("out of memory");
	return CMD_BAD_INPUT;
}
