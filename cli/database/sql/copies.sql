-- SPDX-License-Identifier: MIT
-- Copies of memory.

-- query copies
-- since 4
-- Copies by direction.
SELECT direction, count(*), sum(bytes), count(start_ns),
	coalesce(sum(bytes) FILTER (WHERE start_ns IS NOT NULL), 0),
	coalesce(sum(end_ns - start_ns), 0), min(end_ns - start_ns), max(end_ns - start_ns)
FROM rtl_copy_base GROUP BY direction ORDER BY sum(bytes) DESC, direction;

-- query copies_of_ranks
-- since 4
-- Copies by rank, from where and to where.
SELECT c.process_id, p.rank, c.direction, c.source_gpuId, c.target_gpuId, c.how, count(*),
	sum(c.bytes), count(c.start_ns),
	sum(c.end_ns - c.start_ns),
	/* bytes a nanosecond are GB a second */
	1.0 * sum(c.bytes) FILTER (WHERE c.start_ns IS NOT NULL)
		/ nullif(sum(c.end_ns - c.start_ns), 0)
FROM rtl_copy_base c LEFT JOIN rtl_process p ON p.id = c.process_id
GROUP BY c.process_id, c.direction, c.source_gpuId, c.target_gpuId, c.how
ORDER BY p.rank IS NULL, p.rank, c.process_id, c.direction, c.source_gpuId, c.target_gpuId, c.how;

-- query copy_processes
-- since 4
-- Processes that made copies.
SELECT DISTINCT process_id FROM rtl_copy_base;

-- query copy_times
-- since 4
-- When the copies of each process ran, and when they were submitted.
SELECT process_id, start_ns, end_ns, submit_ns FROM rtl_copy_base
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;

-- query copy_lanes
-- since 4
-- Copies that have times, by time; a copy between two GPUs is of both.
SELECT process_id, source_gpuId, target_gpuId, start_ns, end_ns, submit_ns FROM rtl_copy_base
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL ORDER BY start_ns;

-- query report_copies
-- since 4
-- Copies that have times.
SELECT process_id, start_ns, end_ns, source_gpuId, target_gpuId, direction FROM rtl_copy_base
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;
