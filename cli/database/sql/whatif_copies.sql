-- SPDX-License-Identifier: MIT
-- since 4
-- Every copy that has times.
SELECT process_id, start_ns, end_ns, submit_ns, bytes, direction, call, tid, source_gpuId, target_gpuId
FROM rtl_copy_base WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;
