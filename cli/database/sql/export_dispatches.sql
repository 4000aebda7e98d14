-- SPDX-License-Identifier: MIT
-- Every dispatch with its shape, in the order of the file.
SELECT d.rowid, h.process_id, h.gpuId, h.queueId, h.kernel_id, d.start, d.duration, d.seq, d.tid, d.call,
	h.gridX * h.gridY * h.gridZ, h.workgroupX * h.workgroupY * h.workgroupZ
FROM rtl_dispatch d LEFT JOIN rtl_shape h ON h.id = d.shape_id;
