-- SPDX-License-Identifier: MIT
-- What kinds of GPUs were used.
SELECT DISTINCT g.gfx FROM rtl_gpu g
WHERE g.gpuId IN (SELECT gpuId FROM rtl_queue WHERE dispatched > 0)
ORDER BY g.gfx;
