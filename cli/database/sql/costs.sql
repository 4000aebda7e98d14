-- SPDX-License-Identifier: MIT
-- since 9
-- What the shim's thread took of each process that has one: processor time in us, beside what it
-- dispatched, and its time in ns (NULL: not known).
SELECT p.id, p.rank, c.value,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id),
	coalesce(p.end_ns, p.counted_ns) - p.start_ns
FROM rtl_process p JOIN rtl_counter c ON c.process_id = p.id
WHERE c.queueId IS NULL AND c.name = 'thread_us' AND c.value > 0
ORDER BY p.rank IS NULL, p.rank, p.id;
