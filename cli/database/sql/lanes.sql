-- SPDX-License-Identifier: MIT
-- Which process used which GPU.
SELECT DISTINCT process_id, gpuId FROM rtl_shape ORDER BY process_id, gpuId;
