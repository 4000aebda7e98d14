-- SPDX-License-Identifier: MIT
-- since 4
-- Every copy, of each process nearly in the order of their starts.
SELECT process_id, number, start_ns, end_ns, bytes, direction, source_gpuId, target_gpuId, call
FROM rtl_copy_base ORDER BY process_id, number;
