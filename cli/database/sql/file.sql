-- SPDX-License-Identifier: MIT
-- What cli/database itself asks of a file: its sessions, its completeness, and where its rows lie.

-- query sessions
-- The sessions of this file; nearly always one.
SELECT name, job, uid, command, host, start_ns, start_realtime_ns, end_ns, exit_status,
	CASE WHEN start_realtime_ns > 0
		THEN strftime('%Y-%m-%d %H:%M:%S', start_realtime_ns / 1000000000, 'unixepoch') END,
	end_ns - start_ns
FROM rtl_session ORDER BY id;

-- query sealed
-- What the collector said last of all sessions of the file.
SELECT value FROM rtl_meta WHERE key = 'completeness';

-- query ledger
-- The account of each process on each GPU.
SELECT process_id, gpuId, sum(dispatched), sum(skipped), sum(stored), sum(untimed),
	sum(outstanding), sum(dropped), sum(torn), sum(pending)
FROM rtl_account GROUP BY process_id, gpuId ORDER BY process_id, gpuId;

-- query undrained
-- Processes that live, or were not read to their end.
SELECT count(*) FROM rtl_process WHERE NOT drained;

-- query loss_reasons
-- What is missing, in sum; a loss of unknown size is at least one.
SELECT reason, sum(coalesce(count, 1)) FROM rtl_loss GROUP BY reason ORDER BY reason;

-- query loss_places
-- since 9
-- Where and when dispatches were dropped, torn or left untimed, and tails lost: processes, the rank and the queue where it
-- was one only, from and to in ns of CLOCK_REALTIME. As the collector's ST_LOSS_PLACES.
SELECT l.reason, count(DISTINCT l.process_id),
	CASE WHEN count(DISTINCT l.process_id) = 1 THEN min(p.rank) END,
	CASE WHEN count(DISTINCT l.process_id << 32 | l.queueId & 0xffffffff) = 1
		THEN min(nullif(l.queueId, -1)) END,
	min(l.from_ns + s.start_realtime_ns - s.start_ns),
	max(l.to_ns + s.start_realtime_ns - s.start_ns)
FROM rtl_loss_interval_base l JOIN rtl_process p ON p.id = l.process_id
	JOIN rtl_session s ON s.id = p.session_id
WHERE l.reason GLOB 'dropped_*' OR l.reason GLOB 'untimed_*'
	OR l.reason IN ('torn', 'unknown_tail')
GROUP BY l.reason;

-- query skipped
-- What was left out by choice: dispatches, by reason (other packets are not part of the account),
-- and times, by the user's mode.
SELECT name, sum(value) FROM rtl_counter
WHERE (name GLOB 'skipped_*' OR name = 'untimed_mode') AND name <> 'skipped_not_kernel'
GROUP BY name HAVING sum(value) > 0 ORDER BY name;

-- query left_out
-- since 5
-- Dispatches that a process left out by kernel, GPU or region, so that it is not known what it did
-- meanwhile; what it left out of known times is in rtl_recording.
SELECT c.process_id, sum(c.value) FROM rtl_counter c
WHERE c.name = 'skipped_filter' AND NOT EXISTS (SELECT 1 FROM rtl_recording r
	WHERE r.process_id = c.process_id AND (r.why <> 'start' OR r.end_why IS NOT NULL))
GROUP BY c.process_id HAVING sum(c.value) > 0;

-- query simulated
-- 1: the figures are of a software GPU.
SELECT EXISTS (SELECT 1 FROM rtl_gpu WHERE name GLOB '*SIMULATED*')
	OR EXISTS (SELECT 1 FROM rtl_meta WHERE key = 'simulated' AND CAST(value AS INTEGER));

-- query imported
-- since 14
-- What other tools recorded: kernels, the tool where it is one only, and whether nothing else is here.
SELECT coalesce(sum((SELECT sum(stored) FROM rtl_queue q WHERE q.process_id = p.id)), 0),
	CASE WHEN min(i.source) = max(i.source) THEN min(i.source) END,
	count(*) = (SELECT count(*) FROM rtl_process), count(*)
FROM rtl_process p JOIN rtl_import i ON i.id = p.import_id WHERE i.source IS NOT NULL;

-- query dispatch_root
-- The page where the dispatches begin.
SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = 'rtl_dispatch';

-- query dispatch_columns
-- The columns of the dispatches as they lie in a row; 1: each row has its own number there, or NULL.
SELECT name, type = 'INTEGER' AND dflt_value IS NULL AND NOT pk AND NOT hidden
FROM pragma_table_xinfo('rtl_dispatch', 'main') ORDER BY cid;
