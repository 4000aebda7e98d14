-- SPDX-License-Identifier: MIT
-- since 9
-- Where and when dispatches were dropped, torn or left untimed, and tails lost: processes, the rank and the queue where it
-- was one only, from and to in ns of CLOCK_REALTIME. As the collector's ST_LOSS_PLACES.
SELECT l.reason, count(DISTINCT l.process_id),
	CASE WHEN count(DISTINCT l.process_id) = 1 THEN min(p.rank) END,
	CASE WHEN count(DISTINCT l.process_id << 32 | l.queueId & 0xffffffff) = 1
		THEN min(nullif(l.queueId, -1)) END,
	min(l.from_ns + s.start_realtime_ns - s.start_ns),
	max(l.to_ns + s.start_realtime_ns - s.start_ns)
FROM rtl_loss_interval_base l JOIN rtl_process p ON p.id = l.process_id
	JOIN rtl_session s ON s.id = p.session_id
WHERE l.reason GLOB 'dropped_*' OR l.reason GLOB 'untimed_*'
	OR l.reason IN ('torn', 'unknown_tail')
GROUP BY l.reason;
