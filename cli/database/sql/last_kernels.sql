-- SPDX-License-Identifier: MIT
-- since 9
-- What ended last in each process.
SELECT q.process_id, max(q.last_end_ns), q.gpuId, q.queueId, q.last_seq, s.string
FROM rtl_queue q
	LEFT JOIN rtl_shape h ON h.id = q.last_shape
	LEFT JOIN rocpd_string s ON s.id = h.kernel_id
WHERE q.last_end_ns IS NOT NULL GROUP BY q.process_id;
