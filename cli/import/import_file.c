// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/import/formats/formats.h"
#include "cli/import/import.h"
#include "cli/output/unfinished.h"
#include "proto/base/cleanup.h"

static void tell(const struct trace_file *file, const struct import_counts *counts)
{
	uint64_t gpu = counts->kernels + counts->copies;

	say("%s: %" PRIu64 " kernels, %" PRIu64 " copies (%" PRIu64 " of %" PRIu64
	    " with their call), %" PRIu64 " calls, %" PRIu64 " operations, %" PRIu64
	    " ranges, %" PRIu64 " collectives, %" PRIu64 " metrics; %" PRIu64 " events left out",
		file->name, counts->kernels, counts->copies, counts->linked, gpu, counts->calls,
		counts->ops, counts->ranges, counts->collectives, counts->metrics, counts->skipped);
}

static int read_rows(struct import_store *store, struct trace_file *file,
	const struct import_format *format, const struct import_options *how)
{
	int r = import_store_begin(store, file, format->name, format->source);

	if (r == 1)
		say("%s: left out, as %s", file->name, store->error);
	if (r)
		return r;
	r = format->read(store, file, how);
	if (r == 0)
		r = import_store_commit(store);
	if (r == 0) {
		own_end(store);
		tell(file, &store->counts);
		return 0;
	}
	say("%s", file->error[0] ? file->error : store->error[0] ? store->error : "out of memory");
	if (import_store_rollback(store) < 0)
		return -EIO;
	own_end(store);
	return r;
}

int import_file(struct import_store *store, const char *name, const struct import_options *how)
{
	CLEANUP(trace_file_done) struct trace_file file;
	const struct import_format *format;
	char unpacked[PATH_MAX];
	int r = trace_file_open(name, &file);

	if (r < 0) {
		say("%s", file.error);
		return r;
	}
	snprintf(unpacked, sizeof(unpacked), "%s.unpacked", store->path);
	format = import_format_of(&file, unpacked);
	if (!format) {
		say("%s", file.error);
		return -EINVAL;
	}
	return read_rows(store, &file, format, how);
}

/* ---- a database for one command ------------------------------------------------------------- */

/* Commands that compare ranks need ranks: takes the place among the files, unless another process
 * has that rank. */
static int number_rank(struct import_store *store, const char *file, int64_t place)
{
	sqlite3 *db = store->writer->db;
	sqlite3_stmt *update = NULL;
	int r = database_prepare(db, &update,
		"UPDATE rtl_process SET rank = ?1, told_rank = ?1 WHERE import_id = ?2 AND rank "
		"IS NULL AND NOT EXISTS (SELECT 1 FROM rtl_process WHERE rank = ?1) AND "
		"(SELECT count(*) FROM rtl_process WHERE import_id = ?2) = 1");

	if (r == 0) {
		sqlite3_bind_int64(update, 1, place);
		sqlite3_bind_int64(update, 2, store->import_id);
		r = database_run(update);
	}
	if (r == 0 && sqlite3_changes(db))
		say("%s: its rank is not known: taken for rank %" PRId64 ", its place", file,
			place);
	sqlite3_finalize(update);
	return import_store_fail(store, r);
}

static int make_folder(struct import_temporary *temporary)
{
	const char *place = getenv("TMPDIR");
	int n = snprintf(temporary->folder, sizeof(temporary->folder), "%s/rtl-import-XXXXXX",
		place && *place ? place : "/tmp");

	int r = n < (int)sizeof(temporary->folder) ? unfinished_make_folder(temporary->folder)
						    : -ENAMETOOLONG;

	if (r < 0) {
		say("%s: cannot write: %s", temporary->folder, strerror(-r));
		temporary->folder[0] = 0;
		return -EIO;
	}
	snprintf(temporary->path, sizeof(temporary->path), "%s/import.db", temporary->folder);
	unfinished_add(temporary->path);
	return 0;
}

int import_temporary_make(char *const *files, size_t count, struct import_temporary *ret)
{
	/* The command may be looking for a process that has no kernels. */
	static const struct import_options how = {.is_empty_allowed = true};
	CLEANUP(import_store_done) struct import_store store = {0};
	int r;

	*ret = (struct import_temporary){0};
	r = make_folder(ret);
	if (r < 0)
		return r;
	r = import_store_open(ret->path, false, &store);
	if (r < 0) {
		say("%s", store.error);
		return r;
	}
	for (size_t i = 0; i < count; i++) {
		r = import_file(&store, files[i], &how);
		if (r < 0)
			return r;
		if (r == 0 && number_rank(&store, files[i], (int64_t)i) < 0) {
			say("%s", store.error);
			return -EIO;
		}
	}
	r = import_store_publish(&store);
	if (r < 0)
		say("%s", store.error);
	return r;
}

void import_temporary_done(struct import_temporary *temporary)
{
	if (!temporary->folder[0])
		return;
	(void)unlink(temporary->path);
	(void)rmdir(temporary->folder);
	unfinished_end(temporary->folder);
}
