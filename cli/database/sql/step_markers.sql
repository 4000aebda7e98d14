-- SPDX-License-Identifier: MIT
-- Ranges and marks in the order in which each process began them; a range before what is in it.
SELECT process_id, kind, text, start_ns, end_ns FROM rtl_marker
WHERE start_ns IS NOT NULL AND text IS NOT NULL
ORDER BY process_id, start_ns, end_ns IS NOT NULL, end_ns DESC, roctxId;
