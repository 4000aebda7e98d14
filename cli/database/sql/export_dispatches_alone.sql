-- SPDX-License-Identifier: MIT
-- The same of files that are older than host calls.
SELECT d.rowid, h.process_id, h.gpuId, h.queueId, h.kernel_id, d.start, d.duration, d.seq, d.tid, NULL, d.submit,
	d.marker, NULL, h.workgroupX, h.workgroupY, h.workgroupZ, h.gridX, h.gridY, h.gridZ, h.lds, h.scratch,
	NULL, NULL, NULL, NULL, NULL, NULL
FROM rtl_dispatch d LEFT JOIN rtl_shape h ON h.id = d.shape_id;
