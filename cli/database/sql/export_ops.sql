-- SPDX-License-Identifier: MIT
-- since 14
-- Every operation of a framework, outer ones first: numbers are given as they begin.
SELECT o.id >> 40, o.tid, o.start_ns, o.end_ns, n.string, o.kind, o.external_id, o.sequence, o.forward_tid, s.string,
	t.string
FROM rtl_op_base o JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id LEFT JOIN rocpd_string t ON t.id = o.types_id ORDER BY o.id;
