-- SPDX-License-Identifier: MIT
-- roctxMark("key=value") with a number behind the sign: what the program says of itself (loss,
-- lr, tokens). The mark itself is a row of rtl_marker all the same.
CREATE TABLE rtl_metric_base (
	process_id INTEGER NOT NULL,
	marker_id INTEGER NOT NULL,	-- of the mark
	parent INTEGER,			-- innermost range around it
	tid INTEGER,
	time_ns INTEGER NOT NULL,
	name_id INTEGER NOT NULL REFERENCES rocpd_string (id),
	value REAL NOT NULL,
	PRIMARY KEY (process_id, marker_id, name_id)
) WITHOUT ROWID;

-- step: how many marks of this name the process had made before.
CREATE VIEW rtl_metric AS
SELECT m.process_id, p.rank, s.string AS name,
	row_number() OVER (PARTITION BY m.process_id, m.name_id ORDER BY m.time_ns, m.marker_id) - 1
		AS step,
	m.value, m.time_ns, m.tid, m.parent AS roctxId
FROM rtl_metric_base m JOIN rtl_process p ON p.id = m.process_id
JOIN rocpd_string s ON s.id = m.name_id;
