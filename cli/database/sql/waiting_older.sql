-- SPDX-License-Identifier: MIT
-- As waiting.sql, of a file before schema 9: only what was outstanding when its process ended.
SELECT o.process_id, o.queueId, min(o.sequenceId), o.gpuId, o.description_id, s.string, o.submit_ns,
	count(*) - 1, m.text, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM rtl_outstanding o
	LEFT JOIN rocpd_string s ON s.id = o.description_id
	LEFT JOIN rtl_marker m ON m.process_id = o.process_id AND m.roctxId = o.roctxId
GROUP BY o.process_id, o.queueId
ORDER BY o.process_id, o.submit_ns IS NULL, o.submit_ns, o.queueId;
