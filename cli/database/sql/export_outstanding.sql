-- SPDX-License-Identifier: MIT
-- What had not ended, by process and GPU.
SELECT process_id, gpuId, count(*) FROM rtl_outstanding GROUP BY process_id, gpuId;
