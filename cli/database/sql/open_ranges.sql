-- SPDX-License-Identifier: MIT
-- Ranges that are open, or were when their process ended: the one that was begun last, of each.
SELECT process_id, max(roctxId), text FROM rtl_marker
WHERE end_ns IS NULL AND kind IN ('push', 'start') GROUP BY process_id;
