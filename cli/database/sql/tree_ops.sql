-- SPDX-License-Identifier: MIT
-- since 14
-- Every operation of a framework, outer ones first: numbers are given as they begin.
SELECT id >> 40, id, parent, tid, name_id, shapes_id, start_ns, end_ns, marker FROM rtl_op_base ORDER BY id;
