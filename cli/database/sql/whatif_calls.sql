-- SPDX-License-Identifier: MIT
-- since 3
-- Every host call, with the stream and the event that it was given. A damaged file may have arguments
-- that are no JSON.
SELECT c.id, c.process_id, c.tid, c.start_ns, c.end_ns, c.stream, s.string,
	CASE WHEN s.string GLOB 'hip*Event*' AND json_valid(c.arguments)
		THEN json_extract(c.arguments, '$.event') END
FROM rtl_call_base c JOIN rocpd_string s ON s.id = c.api_id WHERE c.result = 0 ORDER BY c.id;
