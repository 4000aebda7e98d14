-- SPDX-License-Identifier: MIT
-- Which GPUs were used; the first column stands for "any process".
SELECT DISTINCT 0, gpuId FROM rtl_shape ORDER BY gpuId;
