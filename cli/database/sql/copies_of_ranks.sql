-- SPDX-License-Identifier: MIT
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
