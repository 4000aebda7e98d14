-- SPDX-License-Identifier: MIT
-- The processes of a job: their ranks, their ends, their queues and GPUs.

-- query processes
-- Every process, whether it dispatched or not.
SELECT p.id, p.rank, p.local_rank, p.world_size, p.pid, p.launcher, p.attempt, p.exe, p.host,
	p.uid, p.ended, p.exit_status, p.drained, p.mode, p.front_end, p.runtime, p.shim_version,
	p.start_ns, p.hw_frame, p.duplicate_frames, p.job, p.command,
	(SELECT value FROM rtl_counter c WHERE c.process_id = p.id AND c.queueId IS NULL
		AND c.name = 'queues_created') AS queues_created,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id) AS dispatched
FROM rtl_process p ORDER BY p.rank IS NULL, p.rank, p.attempt, p.start_ns, p.id;

-- query has_dispatches
-- Whether anything was dispatched.
SELECT EXISTS (SELECT 1 FROM rtl_queue WHERE dispatched > 0) OR EXISTS (SELECT 1 FROM rtl_dispatch);

-- query ranks
-- The ranks that there are.
SELECT DISTINCT rank FROM rtl_process WHERE rank >= 0 ORDER BY rank;

-- query process_count
-- How many processes there are.
SELECT count(*) FROM rtl_process;

-- query process_ends
-- since 9
-- When each process ended, and when it was last heard of.
SELECT p.id, p.end_ns, max(coalesce(p.counted_ns, 0),
	coalesce((SELECT max(taken_ns) FROM rtl_in_flight f WHERE f.process_id = p.id), 0))
FROM rtl_process p;

-- query failed
-- Whether the command, or a process of the job, ended in another way than well.
SELECT EXISTS (SELECT 1 FROM rtl_session WHERE exit_status <> 0)
	OR EXISTS (SELECT 1 FROM rtl_process WHERE ended = 'killed' OR exit_status <> 0);

-- query statuses
-- How processes ended: each status once, 128 and the signal's number where one ended it.
SELECT DISTINCT exit_status FROM rtl_process WHERE exit_status IS NOT NULL ORDER BY 1;

-- query ranks_by_attempt
-- Processes by rank, of one rank in the order in which they were started.
SELECT id FROM rtl_process ORDER BY rank IS NULL, rank, attempt, start_ns, id;

-- query trace_processes
-- Processes by id: how they ended, whether their host calls were recorded, and what they dispatched.
SELECT p.id, p.rank, p.pid, p.boot_id, p.ended, p.exit_status, coalesce(p.mode IN ('hip', 'all'), 0),
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id)
FROM rtl_process p ORDER BY p.id;

-- query replicas
-- since 12
-- Processes of replicas, which have no rank of the job: the replica, from 1 on, and the rank in it.
SELECT p.id, dense_rank() OVER (ORDER BY g.first_id), p.group_rank
FROM rtl_process p JOIN (
	SELECT "group" AS id, min(id) AS first_id FROM rtl_process
	WHERE rank IS NULL AND group_rank IS NOT NULL AND "group" IS NOT NULL GROUP BY "group") g
	ON g.id = p."group"
WHERE p.rank IS NULL AND p.group_rank IS NOT NULL ORDER BY p.id;

-- query recordings
-- since 5
-- When each process recorded, by what it began and ended; one row without times for a process
-- that never did. What lies outside is its skipped_filter.
SELECT p.id, p.rank, p.pid, r.from_ns, r.to_ns,
	r.from_ns - p.start_ns,
	coalesce(r.to_ns, s.end_ns) - r.from_ns,
	coalesce(r.why, 'never'), r.end_why
FROM rtl_process p
	LEFT JOIN rtl_recording r ON r.process_id = p.id
	LEFT JOIN rtl_session s ON s.id = p.session_id
WHERE EXISTS (SELECT 1 FROM rtl_recording)
	OR EXISTS (SELECT 1 FROM rtl_counter WHERE name = 'skipped_filter' AND value > 0)
ORDER BY p.rank IS NULL, p.rank, p.id, r.from_ns;

-- query gpus
-- The GPUs that processes saw.
SELECT gpuId, kfd_node, kfd_gpu_id, domain, bdf, unique_id, partition, gfx, name
FROM rtl_gpu ORDER BY gpuId;

-- query unfollowed
-- Processes that have queues in no count, and what each says of its front end.
SELECT p.front_end, sum(l.count), count(*) FROM rtl_loss l
JOIN rtl_process p ON p.id = l.process_id WHERE l.reason = 'queues_ineligible'
GROUP BY p.front_end ORDER BY 2 DESC, 1;
