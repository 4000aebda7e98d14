-- SPDX-License-Identifier: MIT
-- What the lanes of a time line are made of.

-- query timeline_dispatches
-- Every dispatch, in the order of the file. submit: ns before start, or the time where start is NULL.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch;

-- query timeline_dispatches_sorted
-- The same in the order of their starts, for files that are too far out of order.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch ORDER BY start, submit DESC;

-- query timeline_copy_lanes
-- since 4
-- Between which GPUs each process copied, how often, and how many of these copies have times.
SELECT process_id, source_gpuId, target_gpuId, count(*), count(start_ns) FROM rtl_copy_base
GROUP BY process_id, source_gpuId, target_gpuId;

-- query timeline_copies
-- since 4
-- Copies of process ?1 that have times, nearly in the order of their starts.
SELECT start_ns, end_ns, submit_ns, source_gpuId, target_gpuId FROM rtl_copy_base
WHERE process_id = ?1 AND start_ns IS NOT NULL AND end_ns IS NOT NULL ORDER BY number;

-- query timeline_copies_sorted
-- since 4
-- The same in the order of their starts.
SELECT start_ns, end_ns, submit_ns, source_gpuId, target_gpuId FROM rtl_copy_base
WHERE process_id = ?1 AND start_ns IS NOT NULL AND end_ns IS NOT NULL ORDER BY start_ns, submit_ns;

-- query timeline_waits
-- since 3
-- When each process waited on the host: for its GPUs (1 is 0), or inside RCCL (1).
SELECT c.process_id, c.start_ns, c.end_ns, s.string GLOB 'nccl*'
FROM rtl_call_base c JOIN rocpd_string s ON s.id = c.api_id
WHERE c.api_id IN (SELECT a.id FROM rtl_api a JOIN rocpd_string n ON n.id = a.id
	WHERE n.string GLOB 'nccl*' OR n.string GLOB 'hip*Synchronize*'
		OR ((n.string GLOB 'hip*Free*' OR n.string GLOB 'hipMemcpy*')
			AND NOT n.string GLOB '*Async*'))
ORDER BY c.process_id, c.start_ns, c.end_ns DESC;

-- query timeline_collectives
-- since 3
-- The calls whose dispatches move data between ranks, and which operation that is: collectives, the
-- ends of their groups, and what these call themselves. NULL: a group of several.
WITH RECURSIVE inside (id, op) AS (
	SELECT k.launch_id, c.api_id FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
	UNION
	SELECT c.id, i.op FROM inside i JOIN rtl_call_base c
		ON c.process_id = i.id >> 40 AND c.parent = i.id & 0xffffffffff)
SELECT i.id, CASE WHEN min(i.op) = max(i.op) THEN s.string END
FROM inside i JOIN rocpd_string s ON s.id = i.op GROUP BY i.id ORDER BY i.id;
