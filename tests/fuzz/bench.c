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

#include "collectord/db/database.h"
#include "collectord/db/rows/row_feed.h"
#include "collectord/ingest/ingest.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/frames.h"

/* Number of shapes, of those that frames define, that are used. */
#define SHAPES_USED 64u

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

/* No peer may make any of these true, whatever it sends: each query finds a row that breaks a
 * rule. */
static const char *const broken[] = {
	"SELECT 1 WHERE (SELECT CAST(total(stored) AS INTEGER) FROM rtl_queue) "
	"<> (SELECT count(*) FROM rtl_dispatch)",
	/* The identity; sums that no integer holds would be real. */
	"SELECT 1 FROM rtl_queue WHERE dispatched < skipped + stored + outstanding + dropped + "
	"torn "
	"OR typeof(skipped + stored + outstanding + dropped + torn) <> 'integer' "
	"OR min(dispatched, skipped, stored, untimed, outstanding, dropped, torn, busy_ns) < 0",
	/* Readers join by these numbers, so they are within bounds. */
	"SELECT 1 FROM rtl_queue WHERE queueId NOT BETWEEN 0 AND 1023",
	"SELECT 1 FROM rtl_shape WHERE queueId NOT BETWEEN 0 AND 1023",
	"SELECT 1 FROM rtl_counter_base WHERE value NOT BETWEEN 0 AND 1 << 48",
	"SELECT 1 FROM rtl_dispatch WHERE seq < 0 OR start < 0 OR duration < 0 OR marker < 0 "
	"OR call NOT BETWEEN 1 AND (1 << 40) - 1 OR start + duration < start "
	"OR (start IS NULL) <> (untimed IS NOT NULL) "
	"OR untimed NOT IN (SELECT id FROM rtl_untimed_reason)",
	"SELECT 1 FROM rtl_marker_base WHERE id < 0 OR parent < 0 OR start_ns < 0",
	"SELECT 1 FROM rtl_call_base WHERE id >> 40 <> process_id OR start_ns < 0 "
	"OR end_ns < start_ns OR marker < 0",
	"SELECT 1 FROM rtl_collective_base WHERE comm < 0 OR seq < 0 OR count < 0 OR bytes < 0",
	"SELECT 1 FROM rtl_copy_base WHERE number < 1 OR submit_ns < 0 OR bytes < 0 "
	"OR start_ns < 0 OR end_ns < start_ns",
	"SELECT 1 FROM rtl_clock WHERE tick < 0 OR tick_hz < 0 OR boottime_ns < 0 OR realtime_ns < "
	"0",
	/* GPUs are those of Hello. */
	"SELECT 1 FROM rtl_shape WHERE gpuId NOT IN (SELECT gpuId FROM rtl_gpu)",
	"SELECT 1 FROM rtl_queue WHERE gpuId NOT IN (SELECT gpuId FROM rtl_gpu)",
	"SELECT 1 FROM rtl_clock WHERE gpuId NOT IN (SELECT gpuId FROM rtl_gpu)",
	"SELECT 1 FROM rtl_copy_base WHERE source_gpuId NOT IN (SELECT gpuId FROM rtl_gpu) "
	"OR target_gpuId NOT IN (SELECT gpuId FROM rtl_gpu)",
};

static sqlite3_stmt *claims[sizeof(broken) / sizeof(*broken)];

void bench_check(struct bench *bench)
{
	FUZZ_MUST(feed_flush(bench->writer->feed) == 0);
	FUZZ_MUST(process_save(bench->process, bench->writer, true) == 0);
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		if (!claims[i])
			FUZZ_MUST(sqlite3_prepare_v2(bench->writer->db, broken[i], -1, &claims[i],
					  NULL) == SQLITE_OK);
		if (sqlite3_step(claims[i]) != SQLITE_DONE)
			fuzz_broken(broken[i], __FILE__, __LINE__);
		sqlite3_reset(claims[i]);
	}
}

/* One dispatch of each shape that is defined, so that what a definition says is used. */
void bench_use_shapes(struct bench *bench)
{
	struct frames frames = {0};

	for (uint32_t id = 0; id < bench->process->defines.shape_count && id < SHAPES_USED; id++) {
		if (!defines_shape(&bench->process->defines, id))
			continue;
		frames.count = 0;
		peer_add_dispatches(&frames, bench->process->frame + 1, id, 0, 1);
		(void)bench_take(bench, frames.bytes + FRAME_PREFIX_BYTES,
			frame_get_length(frames.bytes), false);
	}
	free(frames.bytes);
}

void bench_end(struct bench *bench)
{
	bench->process = process_free(bench->process);
	FUZZ_MUST(writer_rollback(bench->writer) == 0);
}
