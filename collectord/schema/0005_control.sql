-- SPDX-License-Identifier: MIT
-- When a process recorded and when it did not, because the user said so: what lies outside is
-- skipped_filter in its ledger, no loss. why: start | schedule | control.
CREATE TABLE rtl_recording (
	process_id INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,
	to_ns INTEGER,			-- NULL: still, or until it ended
	why TEXT NOT NULL,
	PRIMARY KEY (process_id, from_ns)
) WITHOUT ROWID;
