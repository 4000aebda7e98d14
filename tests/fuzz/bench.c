/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/database.h"
#include "collectord/feed.h"
#include "collectord/ingest.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "tests/unit/store/frames.h"

static char folder[64];

_Noreturn void fuzz_broken(const char *claim, const char *file, int line)
{
	fprintf(stderr, "%s:%d: a promise is broken: %s\n", file, line, claim);
	abort();
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_folder(void)
{
	(void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
	if (folder[0])
		return folder;
	strcpy(folder,
		access("/dev/shm", W_OK) ? "/tmp/rtl-fuzz-XXXXXX" : "/dev/shm/rtl-fuzz-XXXXXX");
	FUZZ_MUST(mkdtemp(folder));
	atexit(remove_folder);
	return folder;
}

static int64_t ask_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;

	FUZZ_MUST(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
	FUZZ_MUST(sqlite3_step(statement) == SQLITE_ROW);
	number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

void bench_init(struct bench *bench)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/job.db", fuzz_folder());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	FUZZ_MUST(fd >= 0);
	close(fd);
	msg_arena_init(&bench->arena, ARENA_BYTES_MAX);
	FUZZ_MUST(writer_open(path, &bench->arena, NULL, &bench->writer) == 0);
	FUZZ_MUST(sqlite3_exec(bench->writer->db,
			  "INSERT INTO rtl_session (name, job, uid, start_ns, start_realtime_ns) "
			  "VALUES ('fuzz', 'fuzz', 0, 1, 1)",
			  NULL, NULL, NULL) == SQLITE_OK);
	bench->session_id = sqlite3_last_insert_rowid(bench->writer->db);
}

void bench_begin(struct bench *bench)
{
	Rtl__Frame *frame = NULL;
	size_t bytes;
	uint8_t *hello = peer_hello(7, 0, &bytes);

	FUZZ_MUST(writer_begin(bench->writer) == 0);
	FUZZ_MUST(msg_unpack(&bench->arena, hello, bytes, &frame) == 0);
	FUZZ_MUST(process_open(bench->writer, bench->session_id, frame->hello, 0, 1007, 4242,
			  &bench->process) == 0);
	free(hello);
}

int bench_take(struct bench *bench, const uint8_t *bytes, size_t count, bool is_next)
{
	char why[INGEST_WHY_BYTES];
	Rtl__Frame *frame = NULL;
	int r = msg_unpack(&bench->arena, bytes, count, &frame);

	if (r < 0)
		return r;
	if (is_next && frame->has_number)
		frame->number = bench->process->frame + 1;
	r = ingest_frame(bench->writer, bench->process, frame, count, why);
	/* Anything else would roll back what others sent, and again at each try. */
	FUZZ_MUST(r == 0 || r == 1 || r == -EBADMSG);
	return r;
}

void bench_take_base(struct bench *bench)
{
	struct frames frames = {0};
	size_t at = 0;

	peer_add_defines(&frames);
	peer_add_anchors(&frames, 1000000);
	while (at < frames.count) {
		size_t bytes = frame_get_length(frames.bytes + at);

		FUZZ_MUST(bench_take(bench, frames.bytes + at + FRAME_PREFIX_BYTES, bytes, false) ==
			  0);
		at += FRAME_PREFIX_BYTES + bytes;
	}
	free(frames.bytes);
}

void bench_check(struct bench *bench)
{
	FUZZ_MUST(feed_flush(bench->writer->feed) == 0);
	FUZZ_MUST(process_save(bench->process, bench->writer, true) == 0);
	FUZZ_MUST(ask_number(bench->writer->db,
		"SELECT (SELECT CAST(total(stored) AS INTEGER) FROM rtl_queue) "
		"= (SELECT count(*) FROM rtl_dispatch)"));
}

void bench_end(struct bench *bench)
{
	bench->process = process_free(bench->process);
	FUZZ_MUST(writer_rollback(bench->writer) == 0);
}
