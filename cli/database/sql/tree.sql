-- SPDX-License-Identifier: MIT
-- The tree of operations, calls, ranges and dispatches.

-- query tree_ops
-- since 14
-- Every operation of a framework, outer ones first: numbers are given as they begin.
SELECT id >> 40, id, parent, tid, name_id, shapes_id, start_ns, end_ns, marker, kind = 'python' FROM rtl_op_base ORDER BY id;

-- query tree_call_ops
-- since 14
-- The calls that an operation made, and which one.
SELECT id, op FROM rtl_call_import WHERE op IS NOT NULL ORDER BY id;

-- query tree_op_names
-- since 14
-- What operations are called: their names, with the shapes of their inputs.
SELECT o.name_id, o.shapes_id, n.string, s.string
FROM (SELECT DISTINCT name_id, shapes_id FROM rtl_op_base) o JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id ORDER BY o.name_id, o.shapes_id;

-- query tree_calls
-- since 5
-- Every host call, outer ones first: a call's number is given at its begin.
SELECT process_id, id, parent, tid, api_id, start_ns, end_ns, marker FROM rtl_call_base ORDER BY id;

-- query tree_markers
-- Every range, outer ones first: ids are given as ranges begin.
SELECT process_id, id, parent, tid, kind, text_id, start_ns, end_ns FROM rtl_marker_base
WHERE kind <> 'mark' ORDER BY process_id, id;

-- query tree_dispatches
-- Every dispatch with what it hangs on, in the order of the file: no join, no sort.
SELECT shape_id, start, duration, submit, tid, marker, call FROM rtl_dispatch;

-- query tree_op_inputs
-- since 18
-- Every operation with the ids of its name and of what its inputs are, outer ones first.
SELECT id, name_id, ifnull(shapes_id, 0), ifnull(types_id, 0), ifnull(inputs_id, 0) FROM rtl_op_base ORDER BY id;

-- query tree_op_kinds
-- since 18
-- Operations that differ in their names or their inputs, sorted by the ids of these.
SELECT o.*, n.string, s.string, t.string, v.string
FROM (SELECT DISTINCT name_id AS name, ifnull(shapes_id, 0) AS shapes, ifnull(types_id, 0) AS types,
		ifnull(inputs_id, 0) AS inputs
	FROM rtl_op_base) o JOIN rocpd_string n ON n.id = o.name
LEFT JOIN rocpd_string s ON s.id = o.shapes LEFT JOIN rocpd_string t ON t.id = o.types
LEFT JOIN rocpd_string v ON v.id = o.inputs ORDER BY o.name, o.shapes, o.types, o.inputs;
