-- SPDX-License-Identifier: MIT
-- Every range, outer ones first: ids are given as ranges begin.
SELECT process_id, id, parent, tid, kind, text_id, start_ns, end_ns FROM rtl_marker_base
WHERE kind <> 'mark' ORDER BY process_id, id;
