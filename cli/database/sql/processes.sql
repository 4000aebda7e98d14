-- SPDX-License-Identifier: MIT
-- Every process, whether it dispatched or not.
SELECT p.id, p.rank, p.local_rank, p.world_size, p.pid, p.launcher, p.attempt, p.exe, p.host,
	p.uid, p.ended, p.exit_status, p.drained, p.mode, p.front_end, p.runtime, p.shim_version,
	p.start_ns, p.hw_frame, p.duplicate_frames, p.job, p.command,
	(SELECT value FROM rtl_counter c WHERE c.process_id = p.id AND c.queueId IS NULL
		AND c.name = 'queues_created') AS queues_created,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id) AS dispatched
FROM rtl_process p ORDER BY p.rank IS NULL, p.rank, p.attempt, p.start_ns, p.id;
