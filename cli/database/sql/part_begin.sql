-- SPDX-License-Identifier: MIT
-- do
-- From here on this connection sees the dispatches ?1 to ?2 alone; temporary names come before those of the file.
CREATE TEMP TABLE rtl_part (first_id, last_id, from_ns, to_ns);
INSERT INTO rtl_part (first_id, last_id) VALUES (?1, ?2);
CREATE TEMP VIEW rtl_dispatch AS SELECT d.rowid AS rowid, d.* FROM rtl_part p
	CROSS JOIN main.rtl_dispatch d ON d.rowid BETWEEN p.first_id AND p.last_id;
