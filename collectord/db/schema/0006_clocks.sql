-- SPDX-License-Identifier: MIT
-- How good the clocks were. error_ns: tick and boottime_ns are no further apart; NULL: unknown.
ALTER TABLE rtl_clock ADD COLUMN error_ns INTEGER;

-- What did not fit, counted and never repaired; written with the rows that it is about.
CREATE TABLE rtl_clock_check (
	process_id INTEGER NOT NULL,
	gpuId INTEGER NOT NULL,
	tick_hz INTEGER,		-- nominal; NULL: unknown
	anchors INTEGER NOT NULL,	-- taken; rtl_clock keeps one a second
	error_max_ns INTEGER,
	steps INTEGER NOT NULL,		-- ticks and time between two anchors do not fit the rate
	regressions INTEGER NOT NULL,	-- the counter went back: reset, wrap
	refused INTEGER NOT NULL,	-- anchors with no place on a line that rises
	early INTEGER NOT NULL,		-- kernels that start before their submission, beyond the error
	early_max_ns INTEGER NOT NULL,
	PRIMARY KEY (process_id, gpuId)
) WITHOUT ROWID;
