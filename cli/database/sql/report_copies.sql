-- SPDX-License-Identifier: MIT
-- since 4
-- Copies that have times.
SELECT process_id, start_ns, end_ns, source_gpuId, target_gpuId, direction FROM rtl_copy_base
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;
