-- SPDX-License-Identifier: MIT
-- Every roctx range and mark with its text, outer ones first: ids are given as ranges begin.
SELECT m.process_id, m.id, m.tid, m.kind, s.string, m.start_ns, m.end_ns, m.parent
FROM rtl_marker_base m LEFT JOIN rocpd_string s ON s.id = m.text_id ORDER BY m.process_id, m.id;
