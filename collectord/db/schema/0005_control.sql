-- SPDX-License-Identifier: MIT
-- When a process recorded and when it did not, because the user said so: what lies outside is
-- skipped_filter in its ledger, no loss. Why it began and ended: start | time (--start-after,
-- --duration) | steps | control (rtl ctl) | program (roctxProfilerPause, roctxProfilerResume).
-- No row of a process: it never recorded.
CREATE TABLE rtl_recording (
	process_id INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,
	to_ns INTEGER,			-- NULL: still, or until it ended
	why TEXT NOT NULL,
	end_why TEXT,
	PRIMARY KEY (process_id, from_ns)
) WITHOUT ROWID;
