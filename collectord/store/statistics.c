/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"
#include "proto/base/clock.h"

static struct store_gpu_stat *gpu_stat(struct store_process_stat *stat, uint32_t gpu_id)
{
	const unsigned room = sizeof(stat->gpu) / sizeof(stat->gpu[0]);

	for (unsigned i = 0; i < stat->gpus; i++)
		if (stat->gpu[i].gpu_id == gpu_id)
			return &stat->gpu[i];
	if (stat->gpus == room)
		return NULL;
	stat->gpu[stat->gpus] = (struct store_gpu_stat){.gpu_id = gpu_id};
	return &stat->gpu[stat->gpus++];
}

/* Sums per GPU. */
static void fill_gpus(const struct ledger *ledger, struct store_process_stat *stat)
{
	stat->gpus = 0;
	for (struct ledger_queue *q = ledger->queues; q; q = q->hh.next) {
		struct store_gpu_stat *gpu = q->has_gpu ? gpu_stat(stat, q->gpu_id) : NULL;
		uint64_t dispatched = ledger_queue_dispatched(q);

		if (!gpu)
			continue;
		gpu->dispatched += dispatched;
		gpu->stored += q->stored;
		gpu->untimed += q->untimed;
		gpu->dropped += ledger_queue_dropped(q);
		gpu->skipped += ledger_queue_skipped(q);
		gpu->outstanding += q->outstanding;
		gpu->torn += q->torn;
		gpu->pending += dispatched - ledger_queue_accounted(q);
		gpu->busy_ns += q->busy_ns;
		if (q->last_end_ns > gpu->last_end_ns)
			gpu->last_end_ns = q->last_end_ns;
	}
}

void stat_fill_process(struct store_process *p)
{
	const struct process *process = p->process;
	struct store_process_stat stat; /* not cleared: it has 6 KiB for 64 GPUs */

	stat.process_id = (uint64_t)process->id;
	stat.pid = process->pid;
	stat.has_rank = process->has_rank;
	stat.rank = process->rank;
	stat.drained = process->is_drained;
	snprintf(stat.exe, sizeof(stat.exe), "%s", process->exe ? process->exe : "");
	fill_gpus(&process->ledger, &stat);
	pthread_mutex_lock(&p->session->store->lock);
	memcpy(&p->stat, &stat,
		offsetof(struct store_process_stat, gpu) + stat.gpus * sizeof(stat.gpu[0]));
	pthread_mutex_unlock(&p->session->store->lock);
}

static uint32_t count_processes(const struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *count = writer->statements.at[ST_PROCESS_COUNT];
	int64_t processes = 0;

	sqlite3_bind_int64(count, 1, session->id);
	(void)database_read(count, &processes);
	return (uint32_t)processes;
}

int stat_fill_session(struct store_session *session, bool now)
{
	struct writer *writer = session->database->writer;
	uint64_t now_ns = clock_monotonic_ns();
	struct store_session_stat stat = {0};
	struct completeness c;
	int r;

	if (!now && now_ns - session->stat_ns < STORE_STAT_NS)
		return 0;
	r = verdict_read(writer, session->id, !session->is_over, &c);
	if (r < 0)
		return r;
	session->stat_ns = now_ns;
	stat.closed = session->is_over;
	stat.simulated = c.simulated;
	stat.complete = completeness_is_complete(&c);
	stat.processes = count_processes(session, writer);
	stat.start_realtime_ns = session->start_realtime_ns;
	stat.dispatched = c.dispatched;
	stat.stored = c.stored;
	stat.lost = completeness_lost(&c);
	stat.missing = completeness_is_missing(&c);
	stat.database_bytes = (uint64_t)storage_database_bytes(writer->path);
	completeness_format(&c, stat.line, sizeof(stat.line));
	pthread_mutex_lock(&session->store->lock);
	session->stat = stat;
	pthread_mutex_unlock(&session->store->lock);
	return 0;
}

void stat_want_session(struct store_session *session)
{
	session->is_stat_due = session->database->is_stat_due = true;
}

void stat_fill_due(struct store_database *database)
{
	bool now = !database->todo.first;

	if (!database->is_stat_due || database->trouble)
		return;
	database->is_stat_due = false;
	for (struct store_session *s = database->first_session; s; s = s->sibling) {
		if (!s->is_stat_due)
			continue;
		(void)stat_fill_session(s, now); /* on failure the last figures stay */
		s->is_stat_due = !now;
		database->is_stat_due |= !now;
	}
}

void store_process_stat(const struct store_process *process, struct store_process_stat *ret)
{
	pthread_mutex_t *lock = &process->session->store->lock;

	pthread_mutex_lock(lock);
	*ret = process->stat;
	pthread_mutex_unlock(lock);
}

bool store_process_rank(const struct store_process *process, bool *ret_has_rank, uint32_t *ret_rank)
{
	pthread_mutex_t *lock = &process->session->store->lock;
	bool is_open;

	pthread_mutex_lock(lock);
	is_open = process->stat.process_id != 0;
	*ret_has_rank = process->stat.has_rank;
	*ret_rank = process->stat.rank;
	pthread_mutex_unlock(lock);
	return is_open;
}

void store_session_stat(const struct store_session *session, struct store_session_stat *ret)
{
	pthread_mutex_t *lock = &session->store->lock;

	pthread_mutex_lock(lock);
	*ret = session->stat;
	pthread_mutex_unlock(lock);
}
