// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/database/session/private_runs.h"
#include "cli/import/import.h"
#include "cli/output/output_file.h"
#include "proto/base/cleanup.h"

enum { KEY_APPEND = 0x600, KEY_RANK_FROM, KEY_KEEP_GOING, KEY_PYTHON, KEY_ALLOW_EMPTY };

static const struct argp_option options[] = {
	{"output", 'o', "OUT.db", 0, "the database to write", 0},
	{"force", 'f', NULL, 0, "overwrite OUT.db", 0},
	{"append", KEY_APPEND, NULL, 0, "add to the database OUT.db, all or nothing", 0},
	{"rank-from", KEY_RANK_FROM, "REGEX", 0,
		"the rank of a file that does not tell it: the first group of REGEX in its name",
		0},
	{"keep-going", KEY_KEEP_GOING, NULL, 0, "leave out files that cannot be read", 0},
	{"python", KEY_PYTHON, NULL, 0,
		"keep all frames of Python, of which there are most; else those of nn.Module", 0},
	{"allow-empty", KEY_ALLOW_EMPTY, NULL, 0, "take files without an event of a GPU", 0},
	{0},
};

struct import_cmd {
	struct import_options how;
	regex_t rank_from;
	bool has_rank_from, is_forced, is_appended, keeps_going;
	const char *out;
	char **files;
	int file_count;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct import_cmd *o = state->input;

	switch (key) {
	case 'o':
		o->out = arg;
		return 0;
	case 'f':
		o->is_forced = true;
		return 0;
	case KEY_APPEND:
		o->is_appended = true;
		return 0;
	case KEY_RANK_FROM:
		opts_regex("rank-from", arg, &o->has_rank_from, &o->rank_from);
		if (o->rank_from.re_nsub < 1)
			opts_error("--rank-from=%s: has no group; write rank([0-9]+)", arg);
		o->how.rank_from = &o->rank_from;
		return 0;
	case KEY_KEEP_GOING:
		o->keeps_going = true;
		return 0;
	case KEY_PYTHON:
		o->how.has_python = true;
		return 0;
	case KEY_ALLOW_EMPTY:
		o->how.is_empty_allowed = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->files = state->argv + state->next;
		o->file_count = state->argc - state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!o->out || !*o->out)
			opts_error("needs -o OUT.db");
		if (!strcmp(o->out, "-"))
			opts_error("-o -: a database is no stream; name a file");
		if (!o->file_count)
			opts_error("needs a FILE");
		if (o->is_forced && o->is_appended)
			opts_error("-f overwrites, and --append adds: give one of them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, "FILE...",
	"What other tools recorded, as a database that all verbs read: traces of PyTorch's "
	"profiler "
	"(.json, .json.gz), one file a rank or merged, rocprofv3's JSON, databases of "
	"rocprofiler-sdk "
	"(rocpd), rocmProfileData and rocm-trace-lite, AORTA's metrics (.jsonl), and databases of "
	"rtl.",
	NULL, NULL, NULL};

/* The output must not replace a file that is read. */
static int check_output(const struct import_cmd *o)
{
	char log[PATH_MAX];
	struct stat out, in;
	int r = output_file_check(o->out, o->is_forced || o->is_appended, &out);

	if (r < 0)
		return r;
	if (r && !o->is_appended && private_runs_keeps(o->out)) {
		say("%s: it is kept; rtl keep --off %s ends that", o->out, o->out);
		return -EROFS;
	}
	/* Frames of the old WAL would be applied to the database that replaces it. */
	snprintf(log, sizeof(log), "%s-wal", o->out);
	if (r && !stat(log, &in) && in.st_size) {
		say("%s: is being written; name another file, or wait until it is closed", o->out);
		return -EBUSY;
	}
	if (!r && o->is_appended) {
		say("%s: is not there; without --append it is made", o->out);
		return -ENOENT;
	}
	for (int i = 0; i < o->file_count && r; i++)
		if (!stat(o->files[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
			say("%s: is a file to be read, too; name another database", o->out);
			return -EEXIST;
		}
	return 0;
}

/* Returns true for errors that spoil the database and not only one file. */
static bool is_of_store(int r)
{
	return r == -EIO || r == -ENOSPC || r == -ENOMEM;
}

static int import_files(struct import_store *store, const struct import_cmd *o, unsigned *ret_read)
{
	int r = 0;

	for (int i = 0; i < o->file_count; i++) {
		r = import_file(store, o->files[i], &o->how);
		*ret_read += r >= 0;
		if (r < 0 && (!o->keeps_going || is_of_store(r)))
			return r;
	}
	return 0;
}

int cmd_import(int argc, char **argv)
{
	struct import_cmd o = {0};
	CLEANUP(import_store_done) struct import_store store = {0};
	unsigned files = 0;
	int r;

	opts_parse(&parser, argc, argv, 0, &o);
	if (check_output(&o))
		return CMD_BAD_INPUT;
	r = import_store_open(o.out, o.is_appended, &store);
	if (r < 0)
		say("%s", store.error);
	else
		r = import_files(&store, &o, &files);
	if (o.has_rank_from)
		regfree(&o.rank_from);
	if (r < 0)
		return CMD_BAD_INPUT;
	if (!files) {
		say("%s: not written: no file could be read", o.out);
		return CMD_BAD_INPUT;
	}
	if (import_store_publish(&store)) {
		say("%s", store.error);
		return CMD_BAD_INPUT;
	}
	return files < (unsigned)o.file_count ? CMD_BAD_INPUT : CMD_OK;
}
