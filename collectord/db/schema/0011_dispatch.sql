-- SPDX-License-Identifier: MIT
-- Only where there are no dispatches yet (migrate.c). For a column that names the rowid SQLite would
-- look through the table before each insert, though rows are only ever appended. ADR 0012.
DROP TABLE rtl_dispatch;

-- submit: ns between submission and start; where start is NULL, the time of submission.
-- untimed: NULL, or enum rtl_untimed. call: the host call that caused it; node: its position
-- among the dispatches of that call.
CREATE TABLE rtl_dispatch (
	shape_id INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	start INTEGER,
	duration INTEGER,
	submit INTEGER,
	tid INTEGER,
	marker INTEGER,
	untimed INTEGER,
	call INTEGER,
	node INTEGER
);
