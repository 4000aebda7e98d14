-- SPDX-License-Identifier: MIT
-- Anchors of each process and GPU: how many, over how long, at which rate.
SELECT c.process_id, p.rank, c.gpuId, count(*) AS anchors, max(c.tick_hz) AS tick_hz,
	max(c.boottime_ns) - min(c.boottime_ns) AS span_ns,
	CASE WHEN max(c.boottime_ns) > min(c.boottime_ns) THEN
		(max(c.tick) - min(c.tick)) * 1e9 / (max(c.boottime_ns) - min(c.boottime_ns)) END
		AS measured_hz,
	max(c.realtime_ns - c.boottime_ns) AS realtime_offset_ns
FROM rtl_clock c LEFT JOIN rtl_process p ON p.id = c.process_id
GROUP BY c.process_id, c.gpuId ORDER BY p.rank IS NULL, p.rank, c.process_id, c.gpuId;
