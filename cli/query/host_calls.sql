-- SPDX-License-Identifier: MIT
-- since 5
-- HIP's and RCCL's functions: how often, how long, how often not 0; of the dispatches that they
-- caused how many have a time, and how long after the call began they started.
WITH kernels AS (
	SELECT c.api_id, count(*) AS dispatches, sum(d.start - c.start_ns) AS latency
	FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
	JOIN rtl_call_base c ON c.id = (h.process_id << 40 | d.call)
	WHERE d.call IS NOT NULL AND d.start IS NOT NULL GROUP BY c.api_id)
SELECT s.string, count(*), total(c.end_ns - c.start_ns), min(c.end_ns - c.start_ns),
	max(c.end_ns - c.start_ns), sum(c.result <> 0), coalesce(k.dispatches, 0),
	coalesce(k.latency, 0)
FROM rtl_call_base c JOIN rocpd_string s ON s.id = c.api_id
LEFT JOIN kernels k ON k.api_id = c.api_id
GROUP BY c.api_id ORDER BY 3 DESC, 1;
