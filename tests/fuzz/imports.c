// SPDX-License-Identifier: MIT
/*
 * fuzz.import_*: files of other tools, whole, for rtl import. --text: the input is the file's text,
 * whose format it says itself. --database=KIND: it is SQL that is done to a small database of that
 * tool. --rtl: a database of rtl; the first byte says which one and whether it is added to another,
 * the rest what has become of it (files.h). What is refused leaves nothing behind; what is taken is
 * a database that rtl reads.
 */
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "tests/fuzz/bench.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

static const struct {
	const char *name, *sql;
} kinds[] = {
	{"rpd", "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);"
		"CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid, tid, start, \"end\", "
		"apiName_id, "
		"args_id);"
		"CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, start, "
		"\"end\", "
		"description_id, opType_id);"
		"CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id, op_id);"
		"CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER PRIMARY KEY, stream, gridX, "
		"gridY, "
		"gridZ, workgroupX, workgroupY, workgroupZ, kernelName_id);"
		"CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER PRIMARY KEY, stream, size);"
		"CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag, value);"
		"INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'CopyHostToDevice'), "
		"(3, 'add'), (4, 'hipLaunchKernel'), (5, 'UserMarker'), (6, 'step 1');"
		"INSERT INTO rocpd_api VALUES (1, 7, 7, 100, 200, 4, 6), (2, 7, 7, 50, 900, 5, 6);"
		"INSERT INTO rocpd_op VALUES (1, 0, 0, 0, 300, 400, 3, 1), (2, 0, 1, 0, 500, 600, "
		"6, 2);"
		"INSERT INTO rocpd_api_ops VALUES (1, 1, 1);"
		"INSERT INTO rocpd_kernelapi VALUES (1, 0, 2, 1, 1, 64, 1, 1, 3);"},
	{"trace_lite", "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);"
		       "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, "
		       "completionSignal, start, \"end\", description_id, opType_id, roctxId);"
		       "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag, value);"
		       "INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'UserMarker'), "
		       "(3, 'add');"
		       "INSERT INTO rocpd_op VALUES (1, -1, 0, 0, '', 100, 900, 3, 2, 1), "
		       "(2, 0, 0, 0, 'wg=64,1,1 grid=128,1,1', 300, 400, 3, 1, 1);"},
	{"rocpd",
		"CREATE TABLE rocpd_string (id, guid, string);"
		"CREATE TABLE rocpd_info_node (id, guid, hostname);"
		"CREATE TABLE rocpd_info_process (id, guid, nid, pid, environment, extdata);"
		"CREATE TABLE rocpd_info_thread (id, guid, tid);"
		"CREATE TABLE rocpd_info_agent (id, guid, type, type_index, name);"
		"CREATE TABLE rocpd_info_kernel_symbol (id, guid, kernel_name, display_name);"
		"CREATE TABLE rocpd_event (id, guid, category_id, stack_id, extdata);"
		"CREATE TABLE rocpd_region (id, guid, pid, tid, start, \"end\", name_id, event_id);"
		"CREATE TABLE rocpd_kernel_dispatch (id, guid, pid, tid, agent_id, kernel_id, "
		"queue_id, "
		"start, \"end\", private_segment_size, group_segment_size, workgroup_size_x, "
		"workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, "
		"event_id);"
		"CREATE TABLE rocpd_memory_copy (id, guid, pid, start, \"end\", src_agent_id, "
		"dst_agent_id, size, event_id);"
		"INSERT INTO rocpd_info_process VALUES (1, 'g', 1, 7, '{\"RANK\": \"1\"}', '{}');"
		"INSERT INTO rocpd_info_agent VALUES (2, 'g', 'GPU', 0, 'gfx942');"
		"INSERT INTO rocpd_string VALUES (1, 'g', 'MARKER_CORE_API');"
		"INSERT INTO rocpd_event VALUES (1, 'g', 1, 1, '{\"message\": \"step\"}');"
		"INSERT INTO rocpd_region VALUES (1, 'g', 1, 1, 100, 900, 1, 1);"
		"INSERT INTO rocpd_kernel_dispatch VALUES (1, 'g', 1, 1, 2, 9, 4, 300, 400, 0, 0, "
		"64, 1, 1, "
		"128, 1, 1, 1);"
		"INSERT INTO rocpd_memory_copy VALUES (1, 'g', 1, 500, 600, 1, 2, 64, 1);"},
};

static const char *database; /* SQL of the database; NULL: the input is text */
static bool is_rtl;	     /* the input is what has become of a database of rtl */
static char folder[128], file[160], out[160], base[160];

static int import(const char *how, const char *to, const char *from)
{
	char verb[] = "import", empty[] = "--allow-empty", option[] = "-o";
	char *words[] = {verb, empty, option, (char *)(uintptr_t)to, (char *)(uintptr_t)from,
		(char *)(uintptr_t)how, NULL};

	return cmd_import(how ? 6 : 5, words);
}

/* Makes the database that others are added to. */
static void make_base(void)
{
	files_init();
	files_write_whole(FILE_CLOSED, files_path());
	FUZZ_MUST(import(NULL, base, files_path()) == CMD_OK);
	files_remove();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char option[] = "--database=";

	for (int i = 1; i < *argc; i++) {
		is_rtl |= !strcmp((*argv)[i], "--rtl");
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			if (!strncmp((*argv)[i], option, strlen(option)) &&
				!strcmp((*argv)[i] + strlen(option), kinds[k].name))
				database = kinds[k].sql;
	}
	snprintf(folder, sizeof(folder), "%s", fuzz_folder());
	snprintf(file, sizeof(file), "%s/rank1", folder);
	snprintf(out, sizeof(out), "%s/out.db", folder);
	snprintf(base, sizeof(base), "%s/base.db", folder);
	/* What is said is not looked at here. libFuzzer has its own way to the terminal. */
	FUZZ_MUST(freopen("/dev/null", "w", stdout));
	stderr = fopen("/dev/null", "w");
	FUZZ_MUST(stderr);
	if (is_rtl)
		make_base();
	return 0;
}

static void write_text(const uint8_t *data, size_t bytes)
{
	FILE *to = fopen(file, "we");

	FUZZ_MUST(to && fwrite(data, 1, bytes, to) == bytes && fclose(to) == 0);
}

/* A statement that goes on for ever is the fuzzer's own. */
static int stop(void *steps)
{
	return ++*(unsigned *)steps > 200;
}

static void write_database(const uint8_t *data, size_t bytes)
{
	char *sql = strndup((const char *)data, bytes);
	unsigned steps = 0;
	sqlite3 *db = NULL;

	FUZZ_MUST(sql && sqlite3_open(file, &db) == SQLITE_OK);
	FUZZ_MUST(sqlite3_exec(db, database, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
	sqlite3_progress_handler(db, 1000, stop, &steps);
	(void)sqlite3_exec(db, sql, NULL, NULL, NULL);
	(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	free(sql);
}

/* Beside the input itself. */
static unsigned count_files(void)
{
	DIR *all = opendir(folder);
	unsigned count = 0;

	FUZZ_MUST(all);
	for (struct dirent *entry; (entry = readdir(all));)
		count += !strncmp(entry->d_name, "out.db", 6);
	closedir(all);
	return count;
}

static void check_database(void)
{
	char summary[] = "summary", tree[] = "tree", collectives[] = "collectives";
	char *words[][2] = {{summary, out}, {tree, out}, {collectives, out}};

	FUZZ_MUST(cmd_summary(2, words[0]) == CMD_OK);
	FUZZ_MUST(cmd_tree(2, words[1]) == CMD_OK);
	FUZZ_MUST(cmd_collectives(2, words[2]) == CMD_OK);
	FUZZ_MUST(unlink(out) == 0);
}

static uint8_t *read_whole(const char *from, size_t *ret)
{
	FILE *stream = fopen(from, "re");
	uint8_t *bytes;
	long count;

	FUZZ_MUST(stream && fseek(stream, 0, SEEK_END) == 0 && (count = ftell(stream)) >= 0);
	rewind(stream);
	bytes = malloc((size_t)count + 1);
	FUZZ_MUST(bytes && fread(bytes, 1, (size_t)count, stream) == (size_t)count);
	fclose(stream);
	*ret = (size_t)count;
	return bytes;
}

/* Adds the file to another database, which must not change if it is refused. */
static void append(const char *from)
{
	size_t count, new_count;
	uint8_t *before = read_whole(base, &count), *after;
	FILE *to = fopen(out, "we");
	int status;

	FUZZ_MUST(to && fwrite(before, 1, count, to) == count && fclose(to) == 0);
	status = import("--append", out, from);
	FUZZ_MUST(status == CMD_OK || status == CMD_BAD_INPUT);
	FUZZ_MUST(count_files() == 1);
	if (status == CMD_BAD_INPUT) {
		after = read_whole(out, &new_count);
		FUZZ_MUST(count == new_count && !memcmp(before, after, count));
		free(after);
	}
	free(before);
	check_database();
}

static void import_anew(const char *from)
{
	int status = import(NULL, out, from);

	FUZZ_MUST(status == CMD_OK || status == CMD_BAD_INPUT);
	FUZZ_MUST(count_files() == (status == CMD_OK));
	if (status == CMD_OK)
		check_database();
}

/* Which file of which schema (files.h), and whether it is added. */
static void take_rtl(struct tape tape)
{
	unsigned which = (unsigned)tape_number(&tape, 1);

	files_write(which & 2 ? FILE_LEFT : FILE_CLOSED, which / 4, &tape);
	if (which & 1)
		append(files_path());
	else
		import_anew(files_path());
	files_remove();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (is_rtl) {
		take_rtl((struct tape){data, bytes});
		return 0;
	}
	if (database)
		write_database(data, bytes);
	else
		write_text(data, bytes);
	import_anew(file);
	(void)unlink(file);
	return 0;
}
