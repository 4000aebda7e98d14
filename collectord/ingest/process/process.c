/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/process/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/ingest/process/ranks.h"
#include "collectord/ingest/process/recording_intervals.h"
#include "collectord/db/rows/text.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define ID_BYTES 16u

static void process_free_p(struct process **process)
{
	process_free(*process);
}

struct process *process_free(struct process *process)
{
	if (!process)
		return NULL;
	defines_done(&process->defines);
	ledger_done(&process->ledger);
	free(process->exe);
	ranks_free_said(process->said);
	free(process);
	return NULL;
}

static void hex(const uint8_t *bytes, char ret[2 * ID_BYTES + 1])
{
	for (unsigned i = 0; i < ID_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static void bind_bytes(
	sqlite3_stmt *statement, int index, int has, const ProtobufCBinaryData *bytes, size_t max)
{
	CLEANUP(free_p) char *text = has ? text_clean(bytes->data, bytes->len, max) : NULL;

	database_bind_text(statement, index, text);
}

/* ---- GPUs ------------------------------------------------------------------------------ */

static void bind_bdf(sqlite3_stmt *put, int index, const Rtl__Gpu *gpu)
{
	char bdf[32];

	if (!gpu->has_location_id)
		return;
	/* PCI_DEVID is bus << 8 | device << 3 | function. */
	snprintf(bdf, sizeof(bdf), "%04x:%02x:%02x.%x", gpu->has_domain ? gpu->domain : 0,
		gpu->location_id >> 8 & 0xff, gpu->location_id >> 3 & 0x1f, gpu->location_id & 7);
	database_bind_text(put, index, bdf);
}

static int put_gpu(struct writer *writer, const Rtl__Gpu *gpu)
{
	sqlite3_stmt *put = writer->statements.at[ST_GPU_PUT];
	char unique[24];

	sqlite3_bind_int64(put, 1, gpu->gpu_id);
	database_bind_optional(put, 2, gpu->has_kfd_node, gpu->kfd_node);
	database_bind_optional(put, 3, gpu->has_kfd_gpu_id, gpu->kfd_gpu_id);
	database_bind_optional(put, 4, gpu->has_domain, gpu->domain);
	bind_bdf(put, 5, gpu);
	snprintf(unique, sizeof(unique), "0x%016lx", (unsigned long)gpu->unique_id);
	database_bind_text(put, 6, gpu->has_unique_id && gpu->unique_id ? unique : NULL);
	database_bind_optional(put, 7, gpu->has_partition, gpu->partition);
	bind_bytes(put, 8, gpu->has_gfx, &gpu->gfx, LABEL_BYTES_MAX);
	bind_bytes(put, 9, gpu->has_name, &gpu->name, LABEL_BYTES_MAX);
	return database_run(put);
}

static int take_gpus(struct process *process, struct writer *writer, const Rtl__Hello *hello)
{
	int r = 0;

	process->gpus = (unsigned)hello->n_gpus;
	for (unsigned i = 0; r == 0 && i < process->gpus; i++) {
		const Rtl__Gpu *gpu = hello->gpus[i];

		process->gpu_id[i] = gpu->gpu_id;
		process_clock_init(&process->clock[i], gpu->has_tick_hz ? gpu->tick_hz : 0);
		r = put_gpu(writer, gpu);
	}
	return r;
}

/* ---- the row --------------------------------------------------------------------------- */

static int insert(
	struct process *process, struct writer *writer, const Rtl__Hello *hello, uid_t uid)
{
	sqlite3_stmt *put = writer->statements.at[ST_PROCESS_PUT];
	char boot_id[2 * ID_BYTES + 1], token[2 * ID_BYTES + 1];
	char ancestors[RANKS_ANCESTORS_BYTES];
	int r;

	hex(process->boot_id, boot_id);
	hex(process->token, token);
	ranks_read_ancestors((pid_t)process->pid, process->start_time, ancestors);
	sqlite3_bind_int64(put, 1, process->session_id);
	sqlite3_bind_int64(put, 2, process->pid);
	sqlite3_bind_int64(put, 3, (int64_t)(hello->start_ns & INT64_MAX));
	database_bind_optional(put, 4, hello->has_rank, hello->rank);
	database_bind_optional(put, 5, hello->has_local_rank, hello->local_rank);
	database_bind_optional(put, 6, hello->has_world_size, hello->world_size);
	bind_bytes(put, 7, hello->has_launcher, &hello->launcher, LABEL_BYTES_MAX);
	database_bind_optional(put, 8, hello->has_attempt, hello->attempt);
	database_bind_text(put, 9, process->exe);
	bind_bytes(put, 10, hello->has_host, &hello->host, LABEL_BYTES_MAX);
	database_bind_text(put, 11, boot_id);
	sqlite3_bind_int64(put, 12, uid);
	database_bind_text(put, 13, token);
	sqlite3_bind_int64(put, 14, (int64_t)(process->start_time & INT64_MAX));
	bind_bytes(put, 15, hello->has_command, &hello->command, COMMAND_BYTES_MAX);
	bind_bytes(put, 16, hello->has_mode, &hello->mode, LABEL_BYTES_MAX);
	bind_bytes(put, 17, hello->has_front_end, &hello->front_end, LABEL_BYTES_MAX);
	bind_bytes(put, 18, hello->has_runtime, &hello->runtime, LABEL_BYTES_MAX);
	bind_bytes(put, 19, hello->has_shim_version, &hello->shim_version, LABEL_BYTES_MAX);
	bind_bytes(put, 20, hello->has_job, &hello->job, LABEL_BYTES_MAX);
	database_bind_text(put, 21, ancestors[0] ? ancestors : NULL);
	r = database_run(put);
	if (r == 0)
		process->id = sqlite3_last_insert_rowid(writer->db);
	return r;
}

/* Returns 1 if the process was found, 0 if not. */
static int find(struct process *process, struct writer *writer)
{
	sqlite3_stmt *statement = writer->statements.at[ST_PROCESS_FIND];
	char boot_id[2 * ID_BYTES + 1], token[2 * ID_BYTES + 1];
	int r = 0, step;

	hex(process->boot_id, boot_id);
	hex(process->token, token);
	database_bind_text(statement, 1, boot_id);
	sqlite3_bind_int64(statement, 2, process->pid);
	sqlite3_bind_int64(statement, 3, (int64_t)(process->start_time & INT64_MAX));
	database_bind_text(statement, 4, token);
	step = sqlite3_step(statement);
	if (step == SQLITE_ROW) {
		process->id = sqlite3_column_int64(statement, 0);
		process->is_drained = sqlite3_column_int(statement, 5);
		if (sqlite3_column_int64(statement, 1) != process->session_id ||
			process->is_drained)
			r = -EALREADY;
		else
			r = 1;
	} else {
		r = database_errno(step);
	}
	sqlite3_reset(statement);
	return r;
}

/*
 * Clears the end of a process that was taken for dead when an earlier collector ended, and its
 * unknown tail.
 */
static int welcome_back(struct process *process, struct writer *writer)
{
	sqlite3_stmt *back = writer->statements.at[ST_PROCESS_BACK];
	static const enum statement drops[] = {ST_LOSS_DROP, ST_LOSS_INTERVAL_DROP};
	int r;

	sqlite3_bind_int64(back, 1, process->id);
	r = database_run(back);
	for (unsigned i = 0; r == 0 && i < sizeof(drops) / sizeof(drops[0]); i++) {
		sqlite3_stmt *drop = writer->statements.at[drops[i]];

		sqlite3_bind_int64(drop, 1, process->id);
		sqlite3_bind_text(drop, 2, "unknown_tail", -1, SQLITE_STATIC);
		r = database_run(drop);
	}
	return r;
}

int process_read_mark(struct writer *writer, int64_t process_id, struct process_mark *ret)
{
	sqlite3_stmt *state = writer->statements.at[ST_PROCESS_STATE];
	uint64_t now_ns = clock_boottime_ns();
	int step;

	sqlite3_bind_int64(state, 1, process_id);
	step = sqlite3_step(state);
	if (step == SQLITE_ROW) {
		ret->frame = (uint64_t)sqlite3_column_int64(state, 0);
		ret->duplicates = (uint64_t)sqlite3_column_int64(state, 1);
		ret->counted_ns = (uint64_t)sqlite3_column_int64(
			state, sqlite3_column_type(state, 2) == SQLITE_NULL ? 3 : 2);
		if (ret->counted_ns > now_ns)
			ret->counted_ns = now_ns; /* the start time comes from the process */
	}
	sqlite3_reset(state);
	if (step == SQLITE_ROW)
		return 0;
	return step == SQLITE_DONE ? -EUCLEAN : database_errno(step);
}

int process_reload(struct process *process, struct writer *writer)
{
	struct process_mark mark;
	int r = process_read_mark(writer, process->id, &mark);

	if (r < 0)
		return r;
	process->frame = mark.frame;
	process->duplicates = mark.duplicates;
	process->ledger.next_from_ns = process->ledger.reading.from_ns = mark.counted_ns;
	process->ledger.reading.to_ns = mark.counted_ns;
	process->is_dirty = false;
	process->is_rank_new = true;
	process->is_drained = false; /* a drained process is not reloaded */
	defines_forget_rows(&process->defines);
	process->ledger.process_id = process->id;
	r = recording_reload(writer, process);
	if (r == 0)
		r = ranks_reload(writer, process);
	if (r == 0)
		r = process_clock_reload(process, writer);
	return r < 0 ? r : ledger_load(&process->ledger, &writer->statements);
}

static int put_meta(struct writer *writer, const Rtl__Hello *hello)
{
	const struct {
		const char *key;
		protobuf_c_boolean has;
		const ProtobufCBinaryData *value;
		size_t max;
	} meta[] = {
		{"mode", hello->has_mode, &hello->mode, LABEL_BYTES_MAX},
		{"front_end", hello->has_front_end, &hello->front_end, LABEL_BYTES_MAX},
		{"host", hello->has_host, &hello->host, LABEL_BYTES_MAX},
	};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < sizeof(meta) / sizeof(meta[0]); i++) {
		CLEANUP(free_p) char *text = NULL;

		if (!meta[i].has)
			continue;
		text = text_clean(meta[i].value->data, meta[i].value->len, meta[i].max);
		r = text ? writer_put_meta_first(writer, meta[i].key, text) : -ENOMEM;
	}
	return r;
}

static int put_simulated(struct writer *writer)
{
	int64_t value = 0;
	int r = database_read(writer->statements.at[ST_IS_SIMULATED], &value);

	return r < 0 ? r : writer_put_meta_number(writer, "simulated", value);
}

static bool hello_is_valid(const Rtl__Hello *hello)
{
	return hello->has_token && hello->token.len == ID_BYTES && hello->has_boot_id &&
	       hello->boot_id.len == ID_BYTES && hello->n_gpus <= RECORDER_GPUS;
}

int process_open(struct writer *writer, int64_t session_id, const Rtl__Hello *hello, uid_t uid,
	pid_t pid, uint64_t start_time, struct process **ret)
{
	CLEANUP(process_free_p) struct process *process = NULL;
	int r;

	if (!hello_is_valid(hello))
		return -EBADMSG;
	process = calloc(1, sizeof(*process) + hello->n_gpus * sizeof(process->clock[0]));
	if (!process)
		return -ENOMEM;
	process->session_id = session_id;
	process->defines.account = process->ledger.account = writer->quota.account;
	process->pid = pid;
	process->start_time = start_time ? start_time : hello->start_time;
	memcpy(process->boot_id, hello->boot_id.data, ID_BYTES);
	memcpy(process->token, hello->token.data, ID_BYTES);
	process->is_rank_new = true;
	if (hello->has_exe)
		process->exe = text_clean(hello->exe.data, hello->exe.len, COMMAND_BYTES_MAX);
	r = find(process, writer);
	if (r == 0)
		r = insert(process, writer, hello, uid);
	else if (r > 0)
		r = welcome_back(process, writer);
	if (r == 0)
		r = take_gpus(process, writer, hello);
	if (r == 0)
		r = put_meta(writer, hello);
	if (r == 0)
		r = put_simulated(writer);
	if (r == 0)
		r = process_reload(process, writer);
	/* Done once: a ROLLBACK does not change the line, and hours of anchors are many rows. */
	if (r == 0)
		r = process_clock_load(process, writer);
	if (r < 0)
		return r;
	*ret = TAKE(process);
	return 0;
}

int process_move(struct process *process, struct writer *writer, int64_t session_id,
	const Rtl__Hello *hello, uid_t uid, uint64_t frame)
{
	int r;

	process->session_id = session_id;
	process->frame = frame;
	process->is_drained = false;
	defines_forget_rows(&process->defines);
	r = insert(process, writer, hello, uid);
	for (unsigned i = 0; r == 0 && i < process->gpus && i < hello->n_gpus; i++) {
		process->clock[i].saved_ns = 0;
		process->clock[i].is_dirty = true;
		r = put_gpu(writer, hello->gpus[i]);
	}
	if (r == 0)
		r = put_meta(writer, hello);
	if (r == 0)
		r = put_simulated(writer);
	if (r < 0)
		return r;
	r = ranks_put_said(writer, process);
	if (r < 0)
		return r;
	process->is_rank_new = true;
	process->ledger.process_id = process->id;
	r = ledger_move(&process->ledger, frame);
	return r < 0 ? r : process_save(process, writer, true);
}

int process_save(struct process *process, struct writer *writer, bool all)
{
	sqlite3_stmt *mark = writer->statements.at[ST_PROCESS_MARK];
	int r;

	if (!process->is_dirty && !all)
		return 0;
	sqlite3_bind_int64(mark, 1, process->id);
	sqlite3_bind_int64(mark, 2, (int64_t)process->frame);
	sqlite3_bind_int64(mark, 3, (int64_t)process->duplicates);
	database_bind_optional(
		mark, 4, process->ledger.next_from_ns > 0, (int64_t)process->ledger.next_from_ns);
	r = database_run(mark);
	if (r == 0)
		r = process_clock_save(process, writer);
	if (r == 0)
		r = ledger_save(&process->ledger, &writer->statements, all);
	if (r == 0)
		process->is_dirty = false;
	return r;
}

int process_put_end(struct writer *writer, int64_t process_id, const char *ended, int exit_status,
	bool is_drained)
{
	sqlite3_stmt *end = writer->statements.at[ST_PROCESS_END];

	sqlite3_bind_int64(end, 1, process_id);
	database_bind_text(end, 2, ended);
	database_bind_optional(end, 3, exit_status >= 0, exit_status);
	sqlite3_bind_int64(end, 4, is_drained);
	sqlite3_bind_int64(end, 5, (int64_t)clock_boottime_ns());
	return database_run(end);
}
