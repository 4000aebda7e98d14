-- SPDX-License-Identifier: MIT
-- The inputs of an operation lie beside its shapes: a table of their own is a page in every file, and only
-- imports have operations.
DROP VIEW rtl_op;
ALTER TABLE rtl_op_base ADD COLUMN inputs_id INTEGER REFERENCES rocpd_string (id);
UPDATE rtl_op_base SET inputs_id = i.text_id FROM rtl_op_inputs i WHERE i.id = rtl_op_base.id;
DROP TABLE rtl_op_inputs;

CREATE VIEW rtl_op AS
SELECT o.id, o.id >> 40 AS process_id, p.rank, o.id & 0xffffffffff AS op_id, o.parent AS parent_id, o.tid,
	n.string AS name, o.kind, o.start_ns, o.end_ns, o.external_id, o.sequence, o.forward_tid,
	s.string AS shapes, t.string AS types, o.marker AS roctxId, v.string AS inputs
FROM rtl_op_base o JOIN rtl_process p ON p.id = o.id >> 40
JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id LEFT JOIN rocpd_string t ON t.id = o.types_id
LEFT JOIN rocpd_string v ON v.id = o.inputs_id;
