-- SPDX-License-Identifier: MIT
-- What dispatches repeat: the queue, the amount of work that is launched, and the kernel.
SELECT h.id, h.process_id, h.gpuId, h.queueId, h.kernel_id, h.workgroupX, h.workgroupY, h.workgroupZ,
	h.gridX, h.gridY, h.gridZ, s.string
FROM rtl_shape h JOIN rocpd_string s ON s.id = h.kernel_id ORDER BY h.id;
