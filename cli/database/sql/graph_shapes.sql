-- SPDX-License-Identifier: MIT
-- The process, kernel and size of each shape.
SELECT id, process_id, kernel_id, workgroupX, workgroupY, workgroupZ, gridX, gridY, gridZ FROM rtl_shape;
