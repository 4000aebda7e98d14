-- SPDX-License-Identifier: MIT
-- since 9
-- The oldest dispatch in flight of each queue: now, or when its process ended. With the collective
-- that caused it: the one of its host call, or of a call around that one; and what ended last before it.
WITH RECURSIVE
flight AS (
	SELECT process_id, queueId, sequenceId, gpuId, description_id, submit_ns, roctxId,
		correlation_id, behind
	FROM rtl_in_flight
	UNION ALL
	SELECT process_id, queueId, sequenceId, gpuId, description_id, submit_ns, roctxId,
		correlation_id, count(*) OVER (PARTITION BY process_id, queueId) - 1
	FROM rtl_outstanding),
head AS (
	SELECT process_id, queueId, min(sequenceId) AS sequenceId, gpuId, description_id, submit_ns,
		roctxId, correlation_id, behind
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
	h.behind, m.text, o.string, k.comm, k.seq, k.bytes, k.comm_size, x.collectives, q.last_end_ns
FROM head h
	LEFT JOIN rtl_queue q ON q.process_id = h.process_id AND q.queueId = h.queueId
	LEFT JOIN rocpd_string s ON s.id = h.description_id
	LEFT JOIN rtl_marker m ON m.process_id = h.process_id AND m.roctxId = h.roctxId
	LEFT JOIN caused x ON x.process_id = h.process_id AND x.queueId = h.queueId
	LEFT JOIN rtl_collective_base k ON k.id = x.id
	LEFT JOIN rtl_call_base c ON c.id = k.id
	LEFT JOIN rocpd_string o ON o.id = c.api_id
ORDER BY h.process_id, h.submit_ns IS NULL, h.submit_ns, h.queueId;
