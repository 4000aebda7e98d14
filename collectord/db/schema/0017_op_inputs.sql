-- SPDX-License-Identifier: MIT
-- The values of an operation's inputs that are no tensors (strides of a convolution, whether an attention is
-- causal), as far as the profiler wrote them.
CREATE TABLE rtl_op_inputs (
	id INTEGER PRIMARY KEY,		-- of rtl_op_base
	text_id INTEGER NOT NULL REFERENCES rocpd_string (id)	-- JSON: a text for each input, empty for tensors
);

DROP VIEW rtl_op;
CREATE VIEW rtl_op AS
SELECT o.id, o.id >> 40 AS process_id, p.rank, o.id & 0xffffffffff AS op_id, o.parent AS parent_id, o.tid,
	n.string AS name, o.kind, o.start_ns, o.end_ns, o.external_id, o.sequence, o.forward_tid,
	s.string AS shapes, t.string AS types, o.marker AS roctxId, v.string AS inputs
FROM rtl_op_base o JOIN rtl_process p ON p.id = o.id >> 40
JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id LEFT JOIN rocpd_string t ON t.id = o.types_id
LEFT JOIN rtl_op_inputs i ON i.id = o.id LEFT JOIN rocpd_string v ON v.id = i.text_id;
