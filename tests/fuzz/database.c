// SPDX-License-Identifier: MIT
/*
 * fuzz.database: a whole file that is damaged, or a stranger's, and the collector that finds it at
 * its start: it judges it, goes on with the session that was left open in it, stores what a rank
 * sends, and ends it. The first byte says which file (files.h) of which schema, the rest what has
 * become of it.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/bench.h"
#include "tests/fuzz/files.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	files_init();
	return 0;
}

/* The name of the session that was left open in the file; to be freed. NULL: none. */
static char *recover(struct store *store, const char *path)
{
	struct store_answer answer;
	char *name = NULL;

	FUZZ_MUST(store_recover(store, path) == 0);
	for (;;) {
		files_wait(store, STORE_LEFT_SESSION, STORE_LEFT_DONE, &answer);
		if (answer.kind == STORE_LEFT_DONE)
			break;
		if (!name && answer.name)
			name = strdup(answer.name);
		store_answer_done(&answer);
	}
	store_answer_done(&answer);
	return name;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	FUZZ_MUST(stat(path, &st) == 0);
	return st.st_ino;
}

/* The file itself: one that another has taken the place of is lost. */
static void check_kept(const char *path, ino_t inode)
{
	char pattern[192];
	bool is_there = false;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s*", path);
	FUZZ_MUST(glob(pattern, GLOB_NOSORT, NULL, &found) == 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		is_there |= inode_of(found.gl_pathv[i]) == inode;
	globfree(&found);
	FUZZ_MUST(is_there);
}

/* However old it is: nothing of it is wrong. */
static void check_not_aside(const char *path)
{
	char pattern[192];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.corrupt-*", path);
	FUZZ_MUST(glob(pattern, GLOB_NOSORT, NULL, &found) == GLOB_NOMATCH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tape tape = {data, bytes};
	unsigned which = (unsigned)tape_number(&tape, 1);
	enum file_kind kind = (enum file_kind)(which % FILE_KINDS);
	struct store_config config = {
		.index_path = kind == FILE_INDEX ? files_index_path() : NULL, .give_up_ms = 1};
	struct store_session *session = NULL;
	struct store *store = NULL;
	char *name = NULL;
	bool is_whole = !tape.left;
	ino_t inode;
	int r;

	files_write(kind, which / FILE_KINDS, &tape);
	if (kind == FILE_INDEX)
		files_write_whole(FILE_LEFT, files_path());
	inode = inode_of(files_path());
	r = store_new(&config, &store);
	FUZZ_MUST(r == 0 || (kind == FILE_INDEX && !is_whole));
	if (r == 0) {
		name = recover(store, kind == FILE_INDEX ? NULL : files_path());
		session = files_open_session(store, files_path(), name ? name : "job");
	}
	if (session)
		files_close(store, session, files_open_process(store, session));
	store_free(store);
	check_kept(files_path(), inode);
	if (is_whole) {
		check_not_aside(files_path());
		check_not_aside(files_index_path());
	}
	files_remove();
	free(name);
	return 0;
}
