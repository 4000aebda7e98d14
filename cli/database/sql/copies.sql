-- SPDX-License-Identifier: MIT
-- since 4
-- Copies by direction.
SELECT direction, count(*), sum(bytes), count(start_ns),
	coalesce(sum(bytes) FILTER (WHERE start_ns IS NOT NULL), 0),
	coalesce(sum(end_ns - start_ns), 0), min(end_ns - start_ns), max(end_ns - start_ns)
FROM rtl_copy_base GROUP BY direction ORDER BY sum(bytes) DESC, direction;
