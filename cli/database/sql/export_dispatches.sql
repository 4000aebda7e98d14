-- SPDX-License-Identifier: MIT
-- since 5
-- Every dispatch with its shape and the call that caused it, in the order of the file.
SELECT d.rowid, h.process_id, h.gpuId, h.queueId, h.kernel_id, d.start, d.duration, d.seq, d.tid, d.call, d.submit,
	d.marker, d.node, h.workgroupX, h.workgroupY, h.workgroupZ, h.gridX, h.gridY, h.gridZ, h.lds, h.scratch,
	c.start_ns, c.tid, c.api_id, c.graph_exec, c.graph_launch, c.end_ns
FROM rtl_dispatch d LEFT JOIN rtl_shape h ON h.id = d.shape_id
LEFT JOIN rtl_call_base c ON c.id = (h.process_id << 40 | d.call);
