-- SPDX-License-Identifier: MIT
-- The GPUs that processes saw.
SELECT gpuId, kfd_node, kfd_gpu_id, domain, bdf, unique_id, partition, gfx, name
FROM rtl_gpu ORDER BY gpuId;
