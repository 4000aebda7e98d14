-- SPDX-License-Identifier: MIT
-- The sessions of this file; nearly always one.
SELECT name, job, uid, command, host, start_ns, start_realtime_ns, end_ns, exit_status,
	CASE WHEN start_realtime_ns > 0
		THEN strftime('%Y-%m-%d %H:%M:%S', start_realtime_ns / 1000000000, 'unixepoch') END,
	end_ns - start_ns
FROM rtl_session ORDER BY id;
