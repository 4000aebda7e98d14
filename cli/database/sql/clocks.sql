-- SPDX-License-Identifier: MIT
-- How well the clocks of GPUs and nodes are known.

-- query clocks
-- since 6
-- How good the clock of each process and GPU was. The kept anchors are compared with the line that
-- fits them best: its rate against the nominal one, and how far the worst anchor is off it.
WITH kept AS (
	SELECT c.process_id, c.gpuId, c.tick_hz, c.error_ns, c.boottime_ns, c.realtime_ns,
		c.tick - min(c.tick) OVER gpu AS ticks, c.boottime_ns - min(c.boottime_ns) OVER gpu AS ns,
		c.realtime_ns - c.boottime_ns AS offset_ns
	FROM rtl_clock c WINDOW gpu AS (PARTITION BY c.process_id, c.gpuId)),
mean AS (
	SELECT *, ticks - avg(ticks) OVER gpu AS x, ns - avg(ns) OVER gpu AS y
	FROM kept WINDOW gpu AS (PARTITION BY process_id, gpuId)),
slope AS (
	SELECT process_id, gpuId, sum(x * y) / nullif(sum(x * x), 0) AS ns_per_tick
	FROM mean GROUP BY process_id, gpuId),
line AS (
	SELECT m.process_id, m.gpuId, count(*) AS kept, max(m.tick_hz) AS tick_hz, max(m.ns) AS span_ns,
		max(s.ns_per_tick) AS ns_per_tick, max(abs(m.y - m.x * s.ns_per_tick)) AS residual_ns,
		max(m.error_ns) AS error_ns, min(m.offset_ns) AS offset_low, max(m.offset_ns) AS offset_high
	FROM mean m JOIN slope s ON s.process_id = m.process_id AND s.gpuId = m.gpuId
	GROUP BY m.process_id, m.gpuId),
latest AS (
	SELECT process_id, gpuId, offset_ns FROM (
		SELECT process_id, gpuId, offset_ns, row_number() OVER (
			PARTITION BY process_id, gpuId ORDER BY boottime_ns DESC) AS n FROM kept)
	WHERE n = 1)
SELECT k.process_id, p.rank, k.gpuId, k.anchors, l.kept,
	coalesce(nullif(k.tick_hz, 0), nullif(l.tick_hz, 0)) AS tick_hz, l.span_ns,
	CAST(round(1e9 / l.ns_per_tick) AS INTEGER) AS measured_hz,
	round((1e9 / l.ns_per_tick / nullif(coalesce(nullif(k.tick_hz, 0), l.tick_hz), 0) - 1) * 1e6, 1)
		AS drift_ppm,
	CASE WHEN l.kept > 2 THEN CAST(round(l.residual_ns) AS INTEGER) END AS residual_ns,
	coalesce(k.error_max_ns, l.error_ns) AS error_ns, latest.offset_ns AS realtime_offset_ns,
	l.offset_high - l.offset_low AS realtime_moved_ns,
	k.steps, k.regressions, k.refused, k.early, k.early_max_ns
FROM rtl_clock_check k
LEFT JOIN line l ON l.process_id = k.process_id AND l.gpuId = k.gpuId
LEFT JOIN latest ON latest.process_id = k.process_id AND latest.gpuId = k.gpuId
LEFT JOIN rtl_process p ON p.id = k.process_id
ORDER BY p.rank IS NULL, p.rank, k.process_id, k.gpuId;

-- query clock_errors
-- since 6
-- How far a GPU's clock may be off the host's.
SELECT process_id, gpuId, error_max_ns FROM rtl_clock_check ORDER BY process_id, gpuId;

-- query realtime_offsets
-- What each node's wall clock adds to its time since boot, of its last anchor.
SELECT p.boot_id, c.realtime_ns - c.boottime_ns, max(c.boottime_ns)
FROM rtl_clock c JOIN rtl_process p ON p.id = c.process_id GROUP BY p.boot_id;
