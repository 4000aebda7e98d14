-- SPDX-License-Identifier: MIT
-- Processes by rank, of one rank in the order in which they were started, and what they dispatched.
SELECT p.id, p.rank, p.pid,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id)
FROM rtl_process p ORDER BY p.rank IS NULL, p.rank, p.attempt, p.start_ns, p.id;
