-- SPDX-License-Identifier: MIT
-- since 9
-- When each process ended, and when it was last heard of.
SELECT p.id, p.end_ns, max(coalesce(p.counted_ns, 0),
	coalesce((SELECT max(taken_ns) FROM rtl_in_flight f WHERE f.process_id = p.id), 0))
FROM rtl_process p;
