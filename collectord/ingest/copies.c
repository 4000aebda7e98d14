// SPDX-License-Identifier: MIT
#include "collectord/ingest/copies.h"

#include <errno.h>
#include <stdio.h>

#include "collectord/db/database.h"
#include "proto/names/copies.h"

/* One copy, from a frame or from a recorder. */
struct copy {
	unsigned how;
	uint64_t id;
	uint64_t call;
	uint32_t tid;
	uint64_t submit_ns;
	uint64_t marker;
	uint64_t bytes;
	unsigned direction;
	int64_t source; /* index of a GPU, or RTL_COPY_PLACE_* */
	int64_t target;
	uint32_t engine;
};

struct copy_times {
	uint64_t id;
	uint64_t start_ns;
	uint64_t duration_ns;
};

static struct copy copy_of_frame(const Rtl__Copies *c, uint32_t i)
{
	return (struct copy){
		.how = c->how[i],
		.id = c->id[i],
		.call = c->call[i],
		.tid = c->tid[i],
		.submit_ns = c->submit_ns[i],
		.marker = c->marker[i],
		.bytes = c->bytes[i],
		.direction = c->direction[i],
		.source = c->source[i],
		.target = c->target[i],
		.engine = c->engine[i],
	};
}

static struct copy_times times_of_frame(const Rtl__Copies *c, uint32_t i)
{
	return (struct copy_times){c->id[i], c->start_ns[i], c->duration_ns[i]};
}

static struct copy copy_of_entry(const struct recorder_call *entry)
{
	return (struct copy){
		.how = entry->api,
		.id = entry->id,
		.call = entry->parent,
		.tid = entry->tid,
		.submit_ns = entry->start_ns,
		.marker = entry->marker,
		.bytes = entry->arg[RTL_COPY_ARG_BYTES],
		.direction = (unsigned)entry->arg[RTL_COPY_ARG_DIRECTION],
		.source = (int64_t)entry->arg[RTL_COPY_ARG_SOURCE],
		.target = (int64_t)entry->arg[RTL_COPY_ARG_TARGET],
		.engine = (uint32_t)entry->arg[RTL_COPY_ARG_ENGINE],
	};
}

static bool place_is_valid(const struct process *process, int64_t place)
{
	return place >= RTL_COPY_PLACE_UNKNOWN && place < (int64_t)process->gpus;
}

static bool copy_is_valid(const struct process *process, const struct copy *copy)
{
	return copy->id && copy->id <= INT64_MAX && copy->call <= INT64_MAX &&
	       copy->marker <= INT64_MAX && copy->submit_ns <= INT64_MAX &&
	       copy->bytes <= INT64_MAX && rtl_copy_how_name(copy->how) &&
	       copy->how != RTL_COPY_TIMES && rtl_copy_direction_name(copy->direction) &&
	       place_is_valid(process, copy->source) && place_is_valid(process, copy->target);
}

static bool times_are_valid(const struct copy_times *times)
{
	return times->id && times->id <= INT64_MAX && times->start_ns &&
	       times->start_ns <= INT64_MAX && times->duration_ns <= INT64_MAX - times->start_ns;
}

static void bind_place(sqlite3_stmt *put, int index, const struct process *process, int64_t place)
{
	database_bind_optional(put, index, place >= 0, place >= 0 ? process->gpu_id[place] : 0);
}

static int put_copy(struct writer *writer, struct process *process, const struct copy *copy)
{
	sqlite3_stmt *put = writer->statements.at[ST_COPY_PUT];

	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, (int64_t)copy->id);
	sqlite3_bind_int64(put, 3, copy->tid);
	sqlite3_bind_int64(put, 4, (int64_t)copy->submit_ns);
	sqlite3_bind_int64(put, 5, (int64_t)copy->bytes);
	sqlite3_bind_text(put, 6, rtl_copy_how_name(copy->how), -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 7, rtl_copy_direction_name(copy->direction), -1, SQLITE_STATIC);
	bind_place(put, 8, process, copy->source);
	bind_place(put, 9, process, copy->target);
	database_bind_optional(put, 10, copy->engine, copy->engine);
	database_bind_optional(put, 11, copy->call, (int64_t)copy->call);
	database_bind_optional(put, 12, copy->marker, (int64_t)copy->marker);
	process->is_dirty = true;
	return database_run(put);
}

/* If the shim had to drop the copy itself, which it has counted, no row changes. */
static int put_times(struct writer *writer, struct process *process, const struct copy_times *times)
{
	sqlite3_stmt *put = writer->statements.at[ST_COPY_TIMES];

	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, (int64_t)times->id);
	sqlite3_bind_int64(put, 3, (int64_t)times->start_ns);
	sqlite3_bind_int64(put, 4, (int64_t)(times->start_ns + times->duration_ns));
	process->is_dirty = true;
	return database_run(put);
}

static bool is_valid(const struct process *process, const Rtl__Copies *copies, uint32_t i)
{
	struct copy_times times = times_of_frame(copies, i);
	struct copy copy = copy_of_frame(copies, i);

	return copies->how[i] == RTL_COPY_TIMES ? times_are_valid(&times)
						: copy_is_valid(process, &copy);
}

int ingest_copies(struct writer *writer, struct process *process, const Rtl__Copies *copies,
	char why[INGEST_WHY_BYTES])
{
	int r = 0;

	for (uint32_t i = 0; i < copies->n; i++) {
		if (!is_valid(process, copies, i)) {
			snprintf(why, INGEST_WHY_BYTES, "a copy is out of range");
			return -EBADMSG;
		}
	}
	for (uint32_t i = 0; r == 0 && i < copies->n; i++) {
		struct copy_times times = times_of_frame(copies, i);
		struct copy copy = copy_of_frame(copies, i);

		r = copies->how[i] == RTL_COPY_TIMES ? put_times(writer, process, &times)
						     : put_copy(writer, process, &copy);
	}
	return r;
}

int ingest_copy_entry(
	struct writer *writer, struct process *process, const struct recorder_call *entry)
{
	if (entry->kind == RECORDER_CALL_COPY_TIMES) {
		struct copy_times times = {
			entry->id, entry->start_ns, entry->end_ns - entry->start_ns};

		return times_are_valid(&times) && entry->end_ns >= entry->start_ns
			       ? put_times(writer, process, &times)
			       : -EBADMSG;
	}
	if (entry->kind == RECORDER_CALL_COPY) {
		struct copy copy = copy_of_entry(entry);

		return copy_is_valid(process, &copy) ? put_copy(writer, process, &copy) : -EBADMSG;
	}
	return -EBADMSG;
}
