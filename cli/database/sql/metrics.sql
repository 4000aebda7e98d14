-- SPDX-License-Identifier: MIT
-- since 2
-- What the program said of itself, by name and rank: how often, last, least, most.
SELECT process_id, rank, name, count(*),
	max(value) FILTER (WHERE is_last), min(value), max(value)
FROM (SELECT *, step = max(step) OVER (PARTITION BY process_id, name) AS is_last FROM rtl_metric)
GROUP BY process_id, name ORDER BY name, rank IS NULL, rank, process_id;
