-- SPDX-License-Identifier: MIT
-- since 4
-- The same in the order of their starts.
SELECT start_ns, end_ns, submit_ns, source_gpuId, target_gpuId FROM rtl_copy_base
WHERE process_id = ?1 AND start_ns IS NOT NULL AND end_ns IS NOT NULL ORDER BY start_ns, submit_ns;
