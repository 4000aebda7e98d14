-- SPDX-License-Identifier: MIT
-- The tree of operations, calls, ranges and dispatches.

-- query tree_ops
-- since 14
-- Every operation of a framework, outer ones first: numbers are given as they begin.
SELECT id >> 40, id, parent, tid, name_id, shapes_id, start_ns, end_ns, marker FROM rtl_op_base ORDER BY id;

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

-- query tree_kernels
-- Kernels, and the first one of the same name: symbols may differ where names do not.
SELECT k.id, min(k.id) OVER (PARTITION BY s.string)
FROM rtl_kernel_base k JOIN rocpd_string s ON s.id = k.id ORDER BY k.id;

-- query tree_dispatches
-- Every dispatch with what it hangs on, in the order of the file: no join, no sort.
SELECT shape_id, start, duration, submit, tid, marker, call FROM rtl_dispatch;
