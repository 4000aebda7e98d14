-- SPDX-License-Identifier: MIT
-- What a job is replayed from.

-- query whatif_dispatches
-- Every dispatch, in the order of the file. submit: ns before start.
SELECT shape_id, seq, start, duration, submit, call, tid FROM rtl_dispatch;

-- query whatif_copies
-- since 4
-- Every copy that has times.
SELECT process_id, start_ns, end_ns, submit_ns, bytes, direction, call, tid, source_gpuId, target_gpuId, number
FROM rtl_copy_base WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;

-- query whatif_calls
-- since 3
-- Every host call, with the stream and the event that it was given. A damaged file may have arguments
-- that are no JSON.
SELECT c.id, c.process_id, c.tid, c.start_ns, c.end_ns, c.stream, s.string,
	CASE WHEN s.string GLOB 'hip*Event*' AND json_valid(c.arguments)
			THEN json_extract(c.arguments, '$.event')
		WHEN s.string = 'hsa_signal_wait' AND json_valid(c.arguments)
			THEN json_extract(c.arguments, '$.signal') END
FROM rtl_call_base c JOIN rocpd_string s ON s.id = c.api_id WHERE c.result = 0 ORDER BY c.id;

-- query whatif_signals
-- since 3
-- The signals that packets and copies wait for (1 is 1), and then the one that they complete.
SELECT c.process_id, c.start_ns, j.key GLOB 'dep*', j.value, json_extract(c.arguments, '$.queue'),
	json_extract(c.arguments, '$.dispatches'), json_extract(c.arguments, '$.copy')
FROM rtl_call_base c, json_each(CASE WHEN json_valid(c.arguments) THEN c.arguments END) j
WHERE c.api_id IN (SELECT id FROM rocpd_string
		WHERE string GLOB 'hsa_*_packet' OR string = 'hsa_amd_memory_async_copy')
	AND (j.key GLOB 'dep*' OR j.key = 'signal') AND j.value <> '0x0'
ORDER BY c.id, 3 DESC;

-- query whatif_processes
-- since 3
-- Processes of which host calls or barrier packets tell what waits for what: the mode alone does not say that there are
-- any. Calls are numbered within their process, and one is enough. Of the whole file, also where a part is looked at.
SELECT p.id FROM rtl_process p WHERE p.mode IN ('hip', 'all', 'barriers') AND EXISTS (
	SELECT 1 FROM main.rtl_call_base c WHERE c.id >= p.id << 40 AND c.id < (p.id + 1) << 40 AND c.result = 0
		AND c.api_id IN (SELECT id FROM rocpd_string WHERE string GLOB 'hip*' OR string GLOB 'hsa_*'));

-- query whatif_imported
-- since 14
-- Processes that another tool recorded, and which.
SELECT p.id, i.source FROM rtl_process p JOIN rtl_import i ON i.id = p.import_id WHERE i.source IS NOT NULL;
