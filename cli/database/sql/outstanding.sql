-- SPDX-License-Identifier: MIT
-- Dispatches that have not ended, and what their processes did last.

-- query waiting
-- since 9
-- The oldest dispatch in flight of each queue: now, or when its process ended. With the collective
-- that caused it: the one of its host call, or of a call around that one; and what ended last before it.
WITH RECURSIVE
flight AS (
	SELECT process_id, queueId, sequenceId, gpuId, description_id, submit_ns, roctxId,
		correlation_id, behind, taken_ns
	FROM rtl_in_flight
	UNION ALL
	SELECT process_id, queueId, sequenceId, gpuId, description_id, submit_ns, roctxId,
		correlation_id, count(*) OVER (PARTITION BY process_id, queueId) - 1, NULL
	FROM rtl_outstanding),
head AS (
	SELECT process_id, queueId, min(sequenceId) AS sequenceId, gpuId, description_id, submit_ns,
		roctxId, correlation_id, behind, taken_ns
	FROM flight GROUP BY process_id, queueId),
around (process_id, queueId, call) AS (
	SELECT process_id, queueId, correlation_id FROM head WHERE correlation_id IS NOT NULL
	UNION
	SELECT a.process_id, a.queueId, c.parent
	FROM around a JOIN rtl_call_base c ON c.id = (a.process_id << 40 | a.call)
	WHERE c.parent IS NOT NULL),
caused AS (
	SELECT a.process_id, a.queueId, min(k.id) AS id, count(*) AS collectives
	FROM around a JOIN rtl_collective_base k ON k.launch_id = (a.process_id << 40 | a.call)
	GROUP BY a.process_id, a.queueId)
SELECT h.process_id, h.queueId, h.sequenceId, h.gpuId, h.description_id, s.string, h.submit_ns,
	h.behind, m.text, o.string, k.comm, k.seq, k.bytes, k.comm_size, x.collectives, q.last_end_ns,
	h.taken_ns
FROM head h
	LEFT JOIN rtl_queue q ON q.process_id = h.process_id AND q.queueId = h.queueId
	LEFT JOIN rocpd_string s ON s.id = h.description_id
	LEFT JOIN rtl_marker m ON m.process_id = h.process_id AND m.roctxId = h.roctxId
	LEFT JOIN caused x ON x.process_id = h.process_id AND x.queueId = h.queueId
	LEFT JOIN rtl_collective_base k ON k.id = x.id
	LEFT JOIN rtl_call_base c ON c.id = k.id
	LEFT JOIN rocpd_string o ON o.id = c.api_id
ORDER BY h.process_id, h.submit_ns IS NULL, h.submit_ns, h.queueId;

-- query longest_in_flight
-- since 9
-- The oldest submission that a living process has in flight, for a quick look.
SELECT min(submit_ns) FROM rtl_in_flight;

-- query waiting_older
-- As waiting, of a file before schema 9: only what was outstanding when its process ended.
SELECT o.process_id, o.queueId, min(o.sequenceId), o.gpuId, o.description_id, s.string, o.submit_ns,
	count(*) - 1, m.text, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM rtl_outstanding o
	LEFT JOIN rocpd_string s ON s.id = o.description_id
	LEFT JOIN rtl_marker m ON m.process_id = o.process_id AND m.roctxId = o.roctxId
GROUP BY o.process_id, o.queueId
ORDER BY o.process_id, o.submit_ns IS NULL, o.submit_ns, o.queueId;

-- query waiting_processes
-- Processes of all sessions in the file, dead or alive: each may wait for others.
SELECT p.id, p.rank, p.pid, p.boot_id, p.start_time, p.ended, p.exit_status,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id) AS dispatched,
	s.end_ns, s.start_realtime_ns - s.start_ns
FROM rtl_process p JOIN rtl_session s ON s.id = p.session_id
WHERE p.ended IS NOT 'exec'
ORDER BY p.rank IS NULL, p.rank, p.attempt, p.start_ns, p.id;

-- query last_kernels
-- since 9
-- What ended last in each process.
SELECT q.process_id, max(q.last_end_ns), q.gpuId, q.queueId, q.last_seq, s.string
FROM rtl_queue q
	LEFT JOIN rtl_shape h ON h.id = q.last_shape
	LEFT JOIN rocpd_string s ON s.id = h.kernel_id
WHERE q.last_end_ns IS NOT NULL GROUP BY q.process_id;

-- query last_collectives
-- since 3
-- The newest collective that each process called in each communicator; sends and receives count pairs.
SELECT c.process_id, k.comm, max(k.seq), s.string FROM rtl_collective_base k
JOIN rtl_call_base c ON c.id = k.id JOIN rocpd_string s ON s.id = c.api_id
WHERE k.comm IS NOT NULL AND k.seq IS NOT NULL AND s.string NOT IN ('ncclSend', 'ncclRecv')
GROUP BY c.process_id, k.comm;
