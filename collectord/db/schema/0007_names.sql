-- SPDX-License-Identifier: MIT
-- What a program calls its threads and devices (roctxName*), the last name of each.
CREATE TABLE rtl_name_base (
	process_id INTEGER NOT NULL,
	kind TEXT NOT NULL,		-- thread | agent | device | stream
	subject INTEGER NOT NULL,	-- tid; hsa_agent_t.handle; HIP's ordinal; hipStream_t
	text_id INTEGER NOT NULL REFERENCES rocpd_string (id),
	tid INTEGER,			-- thread that set the name
	time_ns INTEGER NOT NULL,
	PRIMARY KEY (process_id, kind, subject)
) WITHOUT ROWID;

CREATE VIEW rtl_name AS
SELECT n.process_id, p.rank, n.kind, n.subject, s.string AS name, n.time_ns, n.tid
FROM rtl_name_base n JOIN rtl_process p ON p.id = n.process_id
JOIN rocpd_string s ON s.id = n.text_id;
