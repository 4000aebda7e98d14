-- SPDX-License-Identifier: MIT
-- since 5
-- Every copy with the call that caused it, of each process nearly in the order of their starts.
SELECT y.process_id, y.number, y.start_ns, y.end_ns, y.bytes, y.direction, y.source_gpuId, y.target_gpuId, y.call,
	y.tid, y.submit_ns, y.marker, y.how, y.engine, c.start_ns, c.tid, c.api_id, c.end_ns
FROM rtl_copy_base y LEFT JOIN rtl_call_base c ON c.id = (y.process_id << 40 | y.call)
ORDER BY y.process_id, y.number;
