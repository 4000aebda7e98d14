-- SPDX-License-Identifier: MIT
-- since 4
-- Copies that have times, by time; a copy between two GPUs is of both.
SELECT process_id, source_gpuId, target_gpuId, start_ns, end_ns, submit_ns FROM rtl_copy_base
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL ORDER BY start_ns;
