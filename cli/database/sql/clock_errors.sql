-- SPDX-License-Identifier: MIT
-- since 6
-- How far a GPU's clock may be off the host's.
SELECT process_id, gpuId, error_max_ns FROM rtl_clock_check ORDER BY process_id, gpuId;
