-- SPDX-License-Identifier: MIT
-- Every process, in the order of ranks.
SELECT id, rank, world_size, pid, start_ns,
	(SELECT max(last_end_ns) FROM rtl_queue q WHERE q.process_id = p.id), host, boot_id, exe, command
FROM rtl_process p ORDER BY rank IS NULL, rank, attempt, start_ns, id;
