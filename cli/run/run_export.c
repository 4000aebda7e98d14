// SPDX-License-Identifier: MIT
#include "cli/run/run_export.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/export/format.h"
#include "proto/base/cleanup.h"

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
		struct stat st;
		int r = format->kind == EXPORT_FOLDER
				? output_folder_check(out, is_forced, format->files)
				: output_file_check(out, is_forced, &st);

		if (r < 0)
			return CMD_RUN_FAILED;
	}
	return 0;
}

/* Runs as a program of its own, so that its memory and its failures do not affect us. */
static int start(char *const argv[], pid_t *ret)
{
	posix_spawnattr_t attributes;
	sigset_t none;
	int r = posix_spawnattr_init(&attributes);

	if (r)
		return r;
	/* rtl run has its signals blocked, as it reads them. */
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn(ret, "/proc/self/exe", NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	return r;
}

void run_exports_write(const struct run_exports *exports, bool is_forced, const char *database)
{
	char *argv[2 * RUN_EXPORTS_MAX + 5] = {(char *)"rtl", (char *)"export"};
	char options[RUN_EXPORTS_MAX][32];
	size_t count = 2;
	pid_t pid;
	int r, status = 0;

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
	r = start(argv, &pid);
	if (r) {
		say("--export: cannot start rtl export: %s", strerror(r));
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (status)
		say("--export: failed; rtl export --FORMAT OUT %s does it again", database);
}
