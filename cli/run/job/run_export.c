// SPDX-License-Identifier: MIT
#include "cli/run/job/run_export.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/export/rows/format.h"
#include "proto/base/cleanup.h"

/* What chrome://tracing and Perfetto open, as rocm-trace-lite writes it. */
#define BESIDE_FORMAT "chrome-json"

void run_exports_take(struct run_exports *exports, char *value)
{
	const char *names[RUN_EXPORTS_MAX];
	char *out = strchr(value, '=');
	const struct export_format *format;

	if (!out || !out[1])
		opts_error("--export=%s: is no FORMAT=OUT, as in perfetto=job.pftrace", value);
	*out++ = '\0';
	for (size_t i = 0; i < export_format_count; i++)
		names[i] = export_formats[i]->option;
	format = export_formats[opts_choice("export", value, names, export_format_count)];
	if (!strcmp(out, "-"))
		opts_error("--export=%s=-: stdout is the command's; name a file", value);
	for (size_t i = 0; i < exports->count; i++)
		if (exports->at[i].format == format)
			opts_error("--export=%s: is given twice", value);
	exports->at[exports->count].format = format;
	exports->at[exports->count++].out = out;
}

int run_exports_check(const struct run_exports *exports, bool is_forced)
{
	for (size_t i = 0; i < exports->count; i++) {
		const struct export_format *format = exports->at[i].format;
		const char *out = exports->at[i].out;
		int r = format->kind == EXPORT_FOLDER
				? output_folder_check(out, is_forced, format->files)
				: output_file_check_document(out, is_forced);

		if (r < 0)
			return CMD_RUN_FAILED;
	}
	return 0;
}

/* Runs as a program of its own, so that its memory and its failures do not affect us. Returns 0 or
 * an errno. */
static int start(char *const argv[], int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r = posix_spawnattr_init(&attributes);

	if (r)
		return r;
	r = posix_spawn_file_actions_init(&actions);
	if (r) {
		posix_spawnattr_destroy(&attributes);
		return r;
	}
	/* rtl run has its signals blocked, as it reads them. */
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (out != STDOUT_FILENO)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!r)
		r = posix_spawn(ret, "/proc/self/exe", &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* false, after a line: it could not be started, or said itself what went wrong. */
static bool run(char *const argv[], int out)
{
	pid_t pid;
	int status = 0, r = start(argv, out, &pid);

	if (r) {
		say("cannot start rtl %s: %s", argv[1], strerror(r));
		return false;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status == 0;
}

void run_exports_write(const struct run_exports *exports, bool is_forced, const char *database)
{
	char *argv[2 * RUN_EXPORTS_MAX + 5] = {(char *)"rtl", (char *)"export"};
	char options[RUN_EXPORTS_MAX][32];
	size_t count = 2;

	if (!exports->count)
		return;
	if (is_forced)
		argv[count++] = (char *)"-f";
	for (size_t i = 0; i < exports->count; i++) {
		snprintf(options[i], sizeof(options[i]), "--%s", exports->at[i].format->option);
		argv[count++] = options[i];
		argv[count++] = (char *)exports->at[i].out;
	}
	argv[count++] = (char *)"--";
	argv[count] = (char *)database;
	if (!run(argv, STDOUT_FILENO))
		say("--export: failed; rtl export --FORMAT OUT %s does it again", database);
}

/* ---- beside the database -------------------------------------------------------------------- */

/* "trace" of trace.db, and @end. */
static int name_beside(const char *database, const char *end, char ret[PATH_MAX])
{
	size_t length = strlen(database);

	if (length > 3 && !strcmp(database + length - 3, ".db"))
		length -= 3;
	return snprintf(ret, PATH_MAX, "%.*s%s", (int)length, database, end) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

static void write_summary(const char *database)
{
	char *const argv[] = {
		(char *)"rtl", (char *)"summary", (char *)"--", (char *)database, NULL};
	CLEANUP(output_file_done) struct output_file file = {0};
	char name[PATH_MAX];
	uint64_t bytes;

	if (name_beside(database, "_summary.txt", name) || output_file_check_document(name, true) ||
		output_file_open(name, &file) || !run(argv, fileno(file.to)) ||
		output_file_publish(&file, &bytes))
		say("no summary beside %s; rtl summary shows it", database);
}

void run_exports_write_beside(const struct run_exports *exports, const char *database)
{
	struct run_exports beside = {.count = 1};
	char name[PATH_MAX];

	write_summary(database);
	for (size_t i = 0; i < export_format_count; i++)
		if (!strcmp(export_formats[i]->option, BESIDE_FORMAT))
			beside.at[0].format = export_formats[i];
	for (size_t i = 0; i < exports->count; i++)
		if (exports->at[i].format == beside.at[0].format)
			return;
	beside.at[0].out = name;
	if (!name_beside(database, ".json.gz", name))
		run_exports_write(&beside, true, database);
}
