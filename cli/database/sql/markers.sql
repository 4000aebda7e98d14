-- SPDX-License-Identifier: MIT
-- Ranges and marks.

-- query markers
-- How many ranges and marks there are, and how many were still open.
SELECT count(*), count(*) FILTER (WHERE end_ns IS NULL AND kind <> 'mark') FROM rtl_marker_base;

-- query range_texts
-- What ranges are called.
SELECT id, string FROM rocpd_string WHERE id IN (SELECT text_id FROM rtl_marker_base WHERE kind <> 'mark');

-- query step_markers
-- Ranges and marks in the order in which each process began them; a range before what is in it.
SELECT process_id, kind, text, start_ns, end_ns FROM rtl_marker
WHERE start_ns IS NOT NULL AND text IS NOT NULL
ORDER BY process_id, start_ns, end_ns IS NOT NULL, end_ns DESC, roctxId;

-- query open_ranges
-- Ranges that are open, or were when their process ended: the one that was begun last, of each.
SELECT process_id, max(roctxId), text FROM rtl_marker
WHERE end_ns IS NULL AND kind IN ('push', 'start') GROUP BY process_id;
