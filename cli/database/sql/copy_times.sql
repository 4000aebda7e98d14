-- SPDX-License-Identifier: MIT
-- since 4
-- When the copies of each process ran, and when they were submitted.
SELECT process_id, start_ns, end_ns, submit_ns FROM rtl_copy_base
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;
