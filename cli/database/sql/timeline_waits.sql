-- SPDX-License-Identifier: MIT
-- since 3
-- When each process waited on the host: for its GPUs (1 is 0), or inside RCCL (1).
SELECT c.process_id, c.start_ns, c.end_ns, s.string GLOB 'nccl*'
FROM rtl_call_base c JOIN rocpd_string s ON s.id = c.api_id
WHERE c.api_id IN (SELECT a.id FROM rtl_api a JOIN rocpd_string n ON n.id = a.id
	WHERE n.string GLOB 'nccl*' OR n.string GLOB 'hip*Synchronize*'
		OR ((n.string GLOB 'hip*Free*' OR n.string GLOB 'hipMemcpy*')
			AND NOT n.string GLOB '*Async*'))
ORDER BY c.process_id, c.start_ns, c.end_ns DESC;
