-- SPDX-License-Identifier: MIT
-- since 9
-- When and where each loss happened.
SELECT l.process_id, l.rank, p.pid, l.gpuId, l.queueId, l.reason, l.count, l.from_ns, l.to_ns,
	strftime('%H:%M:%f', (l.from_ns + s.start_realtime_ns - s.start_ns) / 1e9, 'unixepoch'),
	(l.to_ns - l.from_ns), l.first_seq, l.last_seq
FROM rtl_loss_interval l JOIN rtl_process p ON p.id = l.process_id
	JOIN rtl_session s ON s.id = p.session_id
ORDER BY l.rank IS NULL, l.rank, l.process_id, l.from_ns, l.queueId, l.reason;
