-- SPDX-License-Identifier: MIT
-- What rtl info and rtl query show of a file, and the figures beside the dispatches.

-- query meta
-- What the file says of itself.
SELECT key, value FROM rtl_meta ORDER BY key;

-- query views
-- Views and tables that users read: all but those that docs/schema.md calls private.
SELECT name FROM sqlite_schema
WHERE type IN ('view', 'table') AND name NOT GLOB '*_base' AND name NOT GLOB 'sqlite_*'
	AND name NOT IN ('rtl_shape', 'rtl_dispatch', 'rtl_queue', 'rtl_untimed_reason', 'rtl_captured')
ORDER BY name

-- query names
-- since 7
-- What programs call their threads, devices and streams.
SELECT process_id, rank, kind, subject, name FROM rtl_name
ORDER BY rank IS NULL, rank, process_id, kind, subject;

-- query counters
-- Diagnostic counters of each process, its queues summed.
SELECT process_id, name, sum(value) FROM rtl_counter
GROUP BY process_id, name ORDER BY process_id, name;

-- query costs
-- since 9
-- What the shim's thread took of each process that has one: processor time in us, beside what it
-- dispatched, and its time in ns (NULL: not known).
SELECT p.id, p.rank, c.value,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id),
	coalesce(p.end_ns, p.counted_ns) - p.start_ns
FROM rtl_process p JOIN rtl_counter c ON c.process_id = p.id
WHERE c.queueId IS NULL AND c.name = 'thread_us' AND c.value > 0
ORDER BY p.rank IS NULL, p.rank, p.id;

-- query metrics
-- since 2
-- What the program said of itself, by name and rank: how often, last, least, most.
SELECT process_id, rank, name, count(*),
	max(value) FILTER (WHERE is_last), min(value), max(value)
FROM (SELECT *, step = max(step) OVER (PARTITION BY process_id, name) AS is_last FROM rtl_metric)
GROUP BY process_id, name ORDER BY name, rank IS NULL, rank, process_id;

-- query losses
-- What is missing, and why.
SELECT l.process_id, p.rank, p.pid, l.reason, l.count, l.from_ns, l.to_ns
FROM rtl_loss l LEFT JOIN rtl_process p ON p.id = l.process_id
ORDER BY l.reason, p.rank IS NULL, p.rank, l.process_id;

-- query loss_intervals
-- since 9
-- When and where each loss happened.
SELECT l.process_id, l.rank, p.pid, l.gpuId, l.queueId, l.reason, l.count, l.from_ns, l.to_ns,
	strftime('%H:%M:%f', (l.from_ns + s.start_realtime_ns - s.start_ns) / 1e9, 'unixepoch'),
	(l.to_ns - l.from_ns), l.first_seq, l.last_seq
FROM rtl_loss_interval l JOIN rtl_process p ON p.id = l.process_id
	JOIN rtl_session s ON s.id = p.session_id
ORDER BY l.rank IS NULL, l.rank, l.process_id, l.from_ns, l.queueId, l.reason;
