-- SPDX-License-Identifier: MIT
-- Processes of all sessions in the file, dead or alive: each may wait for others.
SELECT p.id, p.rank, p.pid, p.boot_id, p.start_time, p.ended, p.exit_status,
	(SELECT coalesce(sum(dispatched), 0) FROM rtl_queue q WHERE q.process_id = p.id) AS dispatched,
	s.end_ns, s.start_realtime_ns - s.start_ns
FROM rtl_process p JOIN rtl_session s ON s.id = p.session_id
WHERE p.ended IS NOT 'exec'
ORDER BY p.rank IS NULL, p.rank, p.attempt, p.start_ns, p.id;
