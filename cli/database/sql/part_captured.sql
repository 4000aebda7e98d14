-- SPDX-License-Identifier: MIT
-- do
-- since 13
-- And of the process of these calls: what was captured into graphs, whenever that was, and the launches of graphs
-- among the calls ?1 to ?2.
INSERT OR REPLACE INTO temp.rtl_collective_base
SELECT id, launch_id, comm, comm_rank, comm_size, seq, bytes, datatype, peer FROM main.rtl_collective_base
WHERE id IN (SELECT id FROM rtl_captured) AND id >> 40 = ?1 >> 40;
INSERT OR REPLACE INTO temp.rtl_call_base
SELECT c.id, c.process_id, c.parent, c.tid, c.api_id, c.start_ns, c.end_ns, c.result, c.stream, c.arguments,
	c.graph_exec, c.graph_launch
FROM temp.rtl_collective_base k JOIN main.rtl_call_base c ON c.id IN (k.id, k.launch_id)
WHERE k.id IN (SELECT id FROM rtl_captured) AND k.id >> 40 = ?1 >> 40
UNION
SELECT c.id, c.process_id, c.parent, c.tid, c.api_id, c.start_ns, c.end_ns, c.result, c.stream, c.arguments,
	c.graph_exec, c.graph_launch
FROM temp.rtl_collective_base k JOIN main.rtl_call_base c
	ON c.process_id = k.id >> 40 AND c.parent = k.launch_id & 0xffffffffff
WHERE k.id IN (SELECT id FROM rtl_captured) AND k.id >> 40 = ?1 >> 40
UNION
SELECT id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, arguments, graph_exec, graph_launch
FROM main.rtl_call_base WHERE id BETWEEN ?1 AND ?2 AND graph_exec IS NOT NULL;
