// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/command.h"
#include "cli/database/session/find_session.h"
#include "cli/database/session/verb.h"
#include "cli/base/options.h"
#include "cli/output/output_file.h"
#include "cli/report/open_page.h"
#include "cli/report/report.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"

enum { KEY_HTML = 0x500, KEY_OPEN, KEY_STEPS, KEY_LABEL };

static const struct argp_option options[] = {
	{"html", KEY_HTML, "OUT", 0, "the page; - is stdout (default: FILE with .html for .db)", 0},
	{"force", 'f', NULL, 0, "overwrite the page", 0},
	{"open", KEY_OPEN, NULL, 0, "show the page in a browser (BROWSER, else xdg-open)", 0},
	{"label", KEY_LABEL, "TEXT", 0, "name of a FILE, in their order (default: its session)", 0},
	{"steps", KEY_STEPS, "REGEX", 0, "ranges that begin a step, as in rtl timeline", 0},
	{"categories", 'C', "FILE", 0,
		"rules that say what kind of work a kernel is (RTL_CATEGORIES)", 0},
	{"strict", 's', NULL, 0, "exit 3 when anything is missing, or nothing was dispatched", 0},
	{0},
};

struct report_cmd {
	struct report_options what;
	const char *out;
	const char *names[REPORT_FILES_MAX], *labels[REPORT_FILES_MAX];
	size_t count, label_count;
	bool is_forced, is_strict, is_to_open;
};

static void add_name(struct report_cmd *o, const char *name)
{
	if (o->count == REPORT_FILES_MAX)
		opts_error("at most %d FILEs on one page", REPORT_FILES_MAX);
	o->names[o->count++] = name;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_cmd *o = state->input;

	switch (key) {
	case KEY_HTML:
		o->out = arg;
		return 0;
	case 'f':
		o->is_forced = true;
		return 0;
	case KEY_OPEN:
		o->is_to_open = true;
		return 0;
	case 's':
		o->is_strict = true;
		return 0;
	case KEY_LABEL:
		if (o->label_count == REPORT_FILES_MAX)
			opts_error("at most %d FILEs on one page", REPORT_FILES_MAX);
		o->labels[o->label_count++] = arg;
		return 0;
	case KEY_STEPS:
		o->what.steps = arg;
		return 0;
	case 'C':
		o->what.categories = arg;
		return 0;
	case ARGP_KEY_ARG:
		add_name(o, arg);
		return 0;
	case ARGP_KEY_END:
		if (o->out && !*o->out)
			opts_error("--html: the name is empty");
		if (o->is_to_open && o->out && !strcmp(o->out, "-"))
			opts_error("--open needs a page that is a file");
		if (!o->out && o->count > 1)
			opts_error("several FILEs on one page: name it with --html OUT");
		if (o->label_count > (o->count ? o->count : 1))
			opts_error("more --label than FILEs");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION...]",
	"One page that needs nothing else: whether everything was recorded, why the job is slow, a "
	"time line of every rank and GPU, where its time goes, which rank comes late, and the "
	"kernels. "
	"Several FILEs: side by side as well.",
	NULL, NULL, NULL};

/*
 * The page is placed beside FILE; for a session's name in the working folder, because the folder of
 * its database may be the service's.
 */
static char *name_page(const char *file)
{
	const char *name = strrchr(file, '/');
	size_t bytes = strlen(file);
	char *page;

	name = name ? name + 1 : file;
	if (strlen(name) > 3 && !strcmp(file + bytes - 3, ".db"))
		bytes -= 3;
	return asprintf(&page, "%.*s.html", (int)bytes, file) < 0 ? NULL : page;
}

/* A page must not overwrite a file that it is made from, whatever name was used. */
static bool is_input(const struct report_cmd *o, const struct stat *out)
{
	char error[QUERY_ERROR_BYTES];
	struct stat in;

	for (size_t i = 0; i < o->count; i++) {
		CLEANUP(query_free_p) struct query *query = NULL;

		/* A file that cannot be read is reported when the page is made. */
		if (!find_open(o->names[i], error, &query) && !stat(query_path(query), &in) &&
			in.st_dev == out->st_dev && in.st_ino == out->st_ino)
			return true;
	}
	return false;
}

static int check_output(const struct report_cmd *o)
{
	struct stat out;

	if (strcmp(o->out, "-") && !lstat(o->out, &out) && is_input(o, &out)) {
		say("%s: is one of the databases; name another page", o->out);
		return -EEXIST;
	}
	return output_file_check_document(o->out, o->is_forced);
}

static void parts_done(struct report_part (*parts)[REPORT_FILES_MAX])
{
	for (size_t i = 0; i < REPORT_FILES_MAX; i++)
		report_part_done(*parts + i);
}

static int check_strict(const struct report_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!parts[i].figures.is_complete || !parts[i].figures.kernels) {
			say("--strict: %s: %s", parts[i].figures.label, parts[i].figures.line);
			return CMD_LOSSY;
		}
	return CMD_OK;
}

int cmd_report(int argc, char **argv)
{
	struct report_cmd o = {0};
	CLEANUP(parts_done) struct report_part parts[REPORT_FILES_MAX] = {0};
	CLEANUP(output_file_done) struct output_file output = {0};
	CLEANUP(free_p) char *page = NULL, *newest = NULL;
	char error[QUERY_ERROR_BYTES];
	uint64_t bytes;

	opts_parse(&parser, argc, argv, 0, &o);
	if (!o.count) {
		newest = verb_newest();
		if (!newest)
			return CMD_BAD_INPUT;
		add_name(&o, newest);
	}
	o.what.files = o.count;
	if (!o.out)
		o.out = page = name_page(o.names[0]);
	if (check_output(&o))
		return CMD_BAD_INPUT;
	for (size_t i = 0; i < o.count; i++)
		if (report_part_make(o.names[i], o.labels[i], &o.what, i, error, parts + i)) {
			say("%s", error);
			return CMD_BAD_INPUT;
		}
	if (output_file_open(o.out, &output))
		return CMD_BAD_INPUT;
	report_put(parts, o.count, output.to);
	if (output_file_publish(&output, &bytes))
		return CMD_BAD_INPUT;
	if (output.to != stdout)
		say("wrote %s (%.1f MB)%s", o.out, (double)bytes / 1e6,
			o.is_to_open ? "" : ": open it in any browser");
	if (o.is_to_open && open_page(o.out))
		return CMD_BAD_INPUT;
	return o.is_strict ? check_strict(parts, o.count) : CMD_OK;
}
