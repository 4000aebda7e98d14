-- SPDX-License-Identifier: MIT
-- What dispatches repeat, with the amount of work that is launched.
SELECT id, process_id, gpuId, kernel_id, workgroupX, workgroupY, workgroupZ, gridX, gridY, gridZ FROM rtl_shape
ORDER BY id;
