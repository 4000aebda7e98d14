-- SPDX-License-Identifier: MIT
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
