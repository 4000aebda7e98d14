/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Every statement that the store writes or reads with, prepared once per connection. All values are
 * bound: no text of a peer ever becomes part of SQL. Store thread.
 */
#include <sqlite3.h>

#define STATEMENTS(X)                                                                              \
	X(META_PUT, "INSERT INTO rtl_meta (key, value) VALUES (?1, ?2) "                           \
		    "ON CONFLICT (key) DO UPDATE SET value = excluded.value")                      \
	X(META_GET, "SELECT value FROM rtl_meta WHERE key = ?1")                                   \
	X(META_DROP, "DELETE FROM rtl_meta WHERE key = ?1")                                        \
	X(META_PUT_FIRST, "INSERT OR IGNORE INTO rtl_meta (key, value) VALUES (?1, ?2)")           \
	X(REASON_PUT, "INSERT OR IGNORE INTO rtl_untimed_reason (id, name) VALUES (?1, ?2)")       \
	X(TEXT_PUT, "INSERT INTO rocpd_string (string) VALUES (?1)")                               \
	X(TEXT_ALL, "SELECT s.id, s.string, k.symbol FROM rocpd_string s "                         \
		    "LEFT JOIN rtl_kernel_base k ON k.id = s.id")                                  \
	X(KERNEL_PUT, "INSERT INTO rtl_kernel_base (id, symbol) VALUES (?1, ?2)")                  \
	X(SHAPE_LAST, "SELECT coalesce(max(id), 0) FROM rtl_shape")                                \
	X(SHAPE_ALL, "SELECT id, process_id, gpuId, queueId, kernel_id, workgroupX, workgroupY, "  \
		     "workgroupZ, gridX, gridY, gridZ, lds, scratch FROM rtl_shape "               \
		     "WHERE process_id IN (SELECT id FROM rtl_process WHERE ended IS NULL)")       \
	X(SESSION_FIND, "SELECT id, uid, job, start_realtime_ns, command FROM rtl_session "        \
			"WHERE name = ?1")                                                         \
	X(SESSION_PUT, "INSERT INTO rtl_session (name, job, uid, command, host, start_ns, "        \
		       "start_realtime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                   \
	X(SESSION_OPEN_AGAIN, "UPDATE rtl_session SET end_ns = NULL, exit_status = NULL "          \
			      "WHERE id = ?1")                                                     \
	X(SESSION_COMMAND, "UPDATE rtl_session SET command = coalesce(command, ?2) WHERE id = ?1") \
	X(CATEGORIES_DROP, "DELETE FROM rtl_category WHERE origin = 'user'")                       \
	X(CATEGORY_PUT, "INSERT INTO rtl_category VALUES (?1, ?2, ?3, ?4, 'user')")                \
	X(SESSION_END, "UPDATE rtl_session SET end_ns = ?2, exit_status = ?3 WHERE id = ?1")       \
	X(GPU_PUT, "INSERT INTO rtl_gpu (gpuId, kfd_node, kfd_gpu_id, domain, bdf, unique_id, "    \
		   "partition, gfx, name) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "            \
		   "ON CONFLICT (gpuId) DO NOTHING")                                               \
	X(PROCESS_FIND, "SELECT id, session_id, hw_frame, duplicate_frames, ended, drained "       \
			"FROM rtl_process WHERE boot_id = ?1 AND pid = ?2 AND start_time = ?3 "    \
			"AND token = ?4")                                                          \
	X(PROCESS_PUT, "INSERT INTO rtl_process (session_id, pid, start_ns, rank, local_rank, "    \
		       "world_size, launcher, attempt, exe, host, boot_id, uid, token, "           \
		       "start_time, command, mode, front_end, runtime, shim_version, job, "        \
		       "told_rank, told_world_size, ancestors) "                                   \
		       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "     \
		       "?15, ?16, ?17, ?18, ?19, ?20, ?4, ?6, ?21)")                               \
	X(RANK_SAID, "UPDATE rtl_process SET launcher = ?2, told_rank = ?3, local_rank = ?4, "     \
		     "told_world_size = ?5, attempt = ?6, job = coalesce(?7, job), comm = ?8, "    \
		     "comm_rank = ?9, comm_size = ?10 WHERE id = ?1")                              \
	X(RANK_ALL,                                                                                \
		"SELECT p.id, p.start_ns, p.end_ns, p.told_rank, p.told_world_size, "              \
		"p.attempt, p.comm, p.comm_rank, p.comm_size, (SELECT group_concat(gpuId) "        \
		"FROM rtl_queue q WHERE q.process_id = p.id AND q.dispatched > 0), "               \
		"p.ancestors, p.rank, p.world_size, p.\"group\", p.group_rank, "                   \
		"p.end_ns <= ?2 FROM rtl_process p WHERE p.session_id = ?1 AND "                   \
		"(p.ended IS NOT NULL) = ?4 AND (NOT ?4 OR "                                       \
		"((p.comm IS NOT NULL OR (p.told_rank IS NOT NULL AND EXISTS (SELECT 1 FROM "      \
		"rtl_queue q WHERE q.process_id = p.id AND q.dispatched > 0))) AND p.end_ns > "    \
		"(SELECT min(start_ns) FROM rtl_process WHERE session_id = ?1 AND "                \
		"(ended IS NULL OR end_ns > ?2)))) ORDER BY p.id DESC LIMIT ?3")                   \
	X(RANK_OLDEST, "SELECT min(start_ns) FROM rtl_process WHERE session_id = ?1 "              \
		       "AND ended IS NULL")                                                        \
	X(RANK_PUT, "UPDATE rtl_process SET rank = ?2, world_size = ?3, \"group\" = ?4, "          \
		    "group_rank = ?5 WHERE id = ?1")                                               \
	X(RANK_GET, "SELECT rank FROM rtl_process WHERE id = ?1")                                  \
	X(PROCESS_BACK, "UPDATE rtl_process SET ended = NULL, end_ns = NULL WHERE id = ?1")        \
	X(PROCESS_STATE, "SELECT hw_frame, duplicate_frames, counted_ns, start_ns "                \
			 "FROM rtl_process WHERE id = ?1")                                         \
	X(PROCESS_MARK, "UPDATE rtl_process SET hw_frame = ?2, duplicate_frames = ?3, "            \
			"counted_ns = ?4 WHERE id = ?1")                                           \
	X(PROCESS_END, "UPDATE rtl_process SET ended = ?2, exit_status = ?3, drained = ?4, "       \
		       "end_ns = ?5 WHERE id = ?1")                                                \
	X(PROCESS_OPEN_ALL, "SELECT id FROM rtl_process WHERE session_id = ?1 AND ended IS NULL")  \
	X(PROCESS_LEFT_ALL, "SELECT id, uid, pid, start_time, boot_id, token FROM rtl_process "    \
			    "WHERE session_id = ?1 AND ended IS NULL")                             \
	X(PROCESS_COUNT, "SELECT count(*) FROM rtl_process WHERE session_id = ?1")                 \
	X(OUTSTANDING_PUT, "INSERT INTO rtl_outstanding (process_id, gpuId, queueId, "             \
			   "sequenceId, description_id, submit_ns, tid, roctxId, "                 \
			   "correlation_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")          \
	X(IN_FLIGHT_PUT,                                                                           \
		"INSERT OR REPLACE INTO rtl_in_flight (process_id, queueId, sequenceId, "          \
		"gpuId, description_id, submit_ns, tid, roctxId, correlation_id, behind, "         \
		"taken_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")                 \
	X(IN_FLIGHT_DROP, "DELETE FROM rtl_in_flight WHERE process_id = ?1")                       \
	X(QUEUE_ALL, "SELECT queueId, gpuId, dispatched, skipped, stored, untimed, outstanding, "  \
		     "dropped, torn, busy_ns, last_end_ns, last_shape, last_seq "                  \
		     "FROM rtl_queue WHERE process_id = ?1")                                       \
	X(QUEUE_PUT, "INSERT INTO rtl_queue (process_id, queueId, gpuId, dispatched, skipped, "    \
		     "stored, untimed, outstanding, dropped, torn, busy_ns, last_end_ns, "         \
		     "last_shape, last_seq) "                                                      \
		     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) "       \
		     "ON CONFLICT DO UPDATE SET gpuId = excluded.gpuId, "                          \
		     "dispatched = excluded.dispatched, skipped = excluded.skipped, "              \
		     "stored = excluded.stored, untimed = excluded.untimed, "                      \
		     "outstanding = excluded.outstanding, dropped = excluded.dropped, "            \
		     "torn = excluded.torn, busy_ns = excluded.busy_ns, "                          \
		     "last_end_ns = excluded.last_end_ns, last_shape = excluded.last_shape, "      \
		     "last_seq = excluded.last_seq")                                               \
	X(COUNTER_ALL, "SELECT queueId, name, value FROM rtl_counter_base WHERE process_id = ?1")  \
	X(COUNTER_PUT, "INSERT INTO rtl_counter_base (process_id, queueId, name, value) "          \
		       "VALUES (?1, ?2, ?3, ?4) "                                                  \
		       "ON CONFLICT DO UPDATE SET value = excluded.value")                         \
	X(LOSS_PUT, "INSERT INTO rtl_loss (process_id, reason, count, from_ns, to_ns) "            \
		    "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET "                       \
		    "count = excluded.count, from_ns = excluded.from_ns, to_ns = excluded.to_ns")  \
	X(LOSS_DROP, "DELETE FROM rtl_loss WHERE process_id = ?1 AND reason = ?2")                 \
	X(RECORDING_COUNT, "SELECT count(*) FROM rtl_recording WHERE process_id = ?1")             \
	X(RECORDING_HAS, "SELECT 1 FROM rtl_recording WHERE process_id = ?1 AND from_ns = ?2")     \
	X(LOSS_INTERVAL_ALL, "SELECT queueId, reason, count, from_ns, to_ns, first_seq, last_seq " \
			     "FROM rtl_loss_interval_base WHERE process_id = ?1 "                  \
			     "ORDER BY queueId, reason, number")                                   \
	X(LOSS_INTERVAL_PUT,                                                                       \
		"INSERT OR REPLACE INTO rtl_loss_interval_base (process_id, queueId, "             \
		"reason, number, count, from_ns, to_ns, first_seq, last_seq) "                     \
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")                                     \
	X(LOSS_INTERVAL_DROP, "DELETE FROM rtl_loss_interval_base WHERE process_id = ?1 "          \
			      "AND reason = ?2")                                                   \
	X(RECORDING_BEGIN, "INSERT OR IGNORE INTO rtl_recording (process_id, from_ns, why) "       \
			   "VALUES (?1, ?2, ?3)")                                                  \
	X(RECORDING_END,                                                                           \
		"UPDATE rtl_recording SET to_ns = ?2, end_why = ?3 WHERE process_id = ?1 "         \
		"AND to_ns IS NULL AND from_ns = (SELECT max(from_ns) FROM rtl_recording "         \
		"WHERE process_id = ?1 AND from_ns <= ?2)")                                        \
	X(CLOCK_PUT, "INSERT INTO rtl_clock (process_id, gpuId, tick, tick_hz, boottime_ns, "      \
		     "realtime_ns, error_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                 \
	X(CLOCK_ALL, "SELECT gpuId, tick, boottime_ns, realtime_ns, error_ns FROM rtl_clock "      \
		     "WHERE process_id = ?1 ORDER BY boottime_ns")                                 \
	X(CLOCK_CHECK_PUT, "INSERT OR REPLACE INTO rtl_clock_check (process_id, gpuId, tick_hz, "  \
			   "anchors, error_max_ns, steps, regressions, refused, early, "           \
			   "early_max_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")       \
	X(CLOCK_CHECK_ALL, "SELECT gpuId, early, early_max_ns, anchors, error_max_ns, steps, "     \
			   "regressions, refused, tick_hz FROM rtl_clock_check "                   \
			   "WHERE process_id = ?1")                                                \
	X(MARKER_BEGIN, "INSERT OR IGNORE INTO rtl_marker_base (process_id, id, parent, tid, "     \
			"kind, text_id, start_ns, end_ns) "                                        \
			"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                 \
	X(MARKER_END, "UPDATE rtl_marker_base SET end_ns = ?3 "                                    \
		      "WHERE process_id = ?1 AND id = ?2 AND end_ns IS NULL")                      \
	X(METRIC_PUT, "INSERT OR IGNORE INTO rtl_metric_base (process_id, marker_id, parent, "     \
		      "tid, time_ns, name_id, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")         \
	X(NAME_PUT, "INSERT INTO rtl_name_base (process_id, kind, subject, text_id, tid, "         \
		    "time_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET "          \
		    "text_id = excluded.text_id, tid = excluded.tid, time_ns = excluded.time_ns")  \
	X(COPY_PUT, "INSERT OR IGNORE INTO rtl_copy_base (process_id, number, tid, submit_ns, "    \
		    "bytes, how, direction, source_gpuId, target_gpuId, engine, call, marker) "    \
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")                  \
	X(COPY_TIMES, "UPDATE rtl_copy_base SET start_ns = ?3, end_ns = ?4 "                       \
		      "WHERE process_id = ?1 AND number = ?2 AND start_ns IS NULL")                \
	X(API_PUT, "INSERT OR IGNORE INTO rtl_api (id, arguments) VALUES (?1, ?2)")                \
	X(CALL_PUT, "INSERT OR IGNORE INTO rtl_call_base (id, process_id, parent, tid, api_id, "   \
		    "start_ns, end_ns, result, stream, marker, arguments, graph_exec, "            \
		    "graph_launch) "                                                               \
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")             \
	X(COLLECTIVE_PUT, "INSERT OR IGNORE INTO rtl_collective_base (id, comm, comm_rank, "       \
			  "comm_size, seq, count, bytes, datatype, reduction, peer, group_id, "    \
			  "launch_id) "                                                            \
			  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")            \
	X(CAPTURED_PUT, "INSERT OR IGNORE INTO rtl_captured (id, graph) VALUES (?1, ?2)")          \
	/* total() is exact below 2^53; above it, where only false counts get, it cannot fail. */  \
	X(SUM_QUEUES, "SELECT CAST(total(dispatched) AS INTEGER), "                                \
		      "CAST(total(skipped) AS INTEGER), CAST(total(stored) AS INTEGER), "          \
		      "CAST(total(q.untimed) AS INTEGER), CAST(total(outstanding) AS INTEGER), "   \
		      "CAST(total(dropped) AS INTEGER), CAST(total(torn) AS INTEGER) "             \
		      "FROM rtl_queue q "                                                          \
		      "JOIN rtl_process p ON p.id = q.process_id "                                 \
		      "WHERE ?1 IS NULL OR session_id = ?1")                                       \
	/* Of processes that other tools recorded, only these figures are known. */                \
	X(SUM_IMPORTED,                                                                            \
		"SELECT count(*), (SELECT CAST(total(stored) AS INTEGER) FROM rtl_queue q "        \
		"WHERE q.process_id IN (SELECT p.id FROM rtl_process p JOIN rtl_import i "         \
		"ON i.id = p.import_id WHERE i.source IS NOT NULL AND "                            \
		"(?1 IS NULL OR session_id = ?1))), "                                              \
		"CASE WHEN min(i.source) = max(i.source) THEN min(i.source) END, "                 \
		"count(*) = (SELECT count(*) FROM rtl_process "                                    \
		"WHERE ?1 IS NULL OR session_id = ?1) "                                            \
		"FROM rtl_process p JOIN rtl_import i ON i.id = p.import_id "                      \
		"WHERE i.source IS NOT NULL AND (?1 IS NULL OR session_id = ?1)")                  \
	X(SUM_LOSSES, "SELECT reason, CAST(total(coalesce(count, 1)) AS INTEGER) FROM rtl_loss l " \
		      "LEFT JOIN rtl_process p ON p.id = l.process_id "                            \
		      "WHERE ?1 IS NULL OR session_id = ?1 OR l.process_id = 0 GROUP BY reason")   \
	X(LOSS_PLACES,                                                                             \
		"SELECT l.reason, count(DISTINCT l.process_id), "                                  \
		"CASE WHEN count(DISTINCT l.process_id) = 1 THEN min(p.rank) END, "                \
		"CASE WHEN count(DISTINCT l.process_id << 32 | l.queueId & 0xffffffff) = 1 "       \
		"THEN min(nullif(l.queueId, -1)) END, "                                            \
		"min(l.from_ns + s.start_realtime_ns - s.start_ns), "                              \
		"max(l.to_ns + s.start_realtime_ns - s.start_ns) "                                 \
		"FROM rtl_loss_interval_base l JOIN rtl_process p ON p.id = l.process_id "         \
		"JOIN rtl_session s ON s.id = p.session_id "                                       \
		"WHERE (l.reason GLOB 'dropped_*' OR l.reason GLOB 'untimed_*' "                   \
		"OR l.reason IN ('torn', 'unknown_tail')) "                                        \
		"AND (?1 IS NULL OR p.session_id = ?1) GROUP BY l.reason")                         \
	X(SUM_SKIPPED, "SELECT name, CAST(total(value) AS INTEGER) FROM rtl_counter_base c "       \
		       "JOIN rtl_process p ON p.id = c.process_id "                                \
		       "WHERE (name GLOB 'skipped_*' OR name = 'untimed_mode') AND (?1 IS NULL "   \
		       "OR session_id = ?1) "                                                      \
		       "GROUP BY name")                                                            \
	X(SUM_UNDRAINED, "SELECT count(*) FROM rtl_process "                                       \
			 "WHERE NOT drained AND (?1 IS NULL OR session_id = ?1)")                  \
	X(MISSING_ROWS, "SELECT CAST((SELECT total(stored) FROM rtl_queue) AS INTEGER) - "         \
			"(SELECT count(*) FROM rtl_dispatch)")                                     \
	X(IS_SIMULATED, "SELECT EXISTS (SELECT 1 FROM rtl_gpu WHERE name GLOB '*SIMULATED*')")

#define STATEMENT_ENUM(name, sql) ST_##name,
enum statement { STATEMENTS(STATEMENT_ENUM) ST_COUNT };

struct statements {
	sqlite3_stmt *at[ST_COUNT];
};

/* -errno as database_errno(); on an error no statement stays prepared. */
int statements_prepare(sqlite3 *db, struct statements *statements);
void statements_done(struct statements *statements);
