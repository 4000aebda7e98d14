-- SPDX-License-Identifier: MIT
-- What a job is replayed from.

-- query whatif_dispatches
-- Every dispatch, in the order of the file. submit: ns before start.
SELECT shape_id, seq, start, duration, submit, call, tid FROM rtl_dispatch;

-- query whatif_copies
-- since 4
-- Every copy that has times.
SELECT process_id, start_ns, end_ns, submit_ns, bytes, direction, call, tid, source_gpuId, target_gpuId
FROM rtl_copy_base WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;

-- query whatif_calls
-- since 3
-- Every host call, with the stream and the event that it was given. A damaged file may have arguments
-- that are no JSON.
SELECT c.id, c.process_id, c.tid, c.start_ns, c.end_ns, c.stream, s.string,
	CASE WHEN s.string GLOB 'hip*Event*' AND json_valid(c.arguments)
		THEN json_extract(c.arguments, '$.event') END
FROM rtl_call_base c JOIN rocpd_string s ON s.id = c.api_id WHERE c.result = 0 ORDER BY c.id;
