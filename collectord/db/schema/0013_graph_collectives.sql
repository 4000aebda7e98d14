-- SPDX-License-Identifier: MIT
-- RCCL calls that are captured into a hipGraph move nothing themselves: each launch of the graph is
-- a collective of every call in it.

CREATE TABLE rtl_captured (
	id INTEGER PRIMARY KEY,		-- of rtl_collective_base
	graph INTEGER NOT NULL		-- hipGraph_t that the call was captured into
);

-- The calls that give an executable graph its nodes, and those that end a graph, whose address may
-- come again. Addresses are texts here, as in arguments; a reader that trusts no schema (PRAGMA
-- trusted_schema) has no functions of JSON in a view.
CREATE VIEW rtl_graph_call AS
SELECT id, process_id, api, substr(graph, 1, instr(graph, '"') - 1) AS graph,
	CASE WHEN api <> 'hipGraphDestroy' THEN substr(exec, 1, instr(exec, '"') - 1) END AS graph_exec
FROM (SELECT c.id, c.process_id, s.string AS api,
		substr(c.arguments, instr(c.arguments, '"graph":"') + 9) AS graph,
		substr(c.arguments, instr(c.arguments, '"graphExec":"') + 13) AS exec
	FROM rtl_api a JOIN rocpd_string s ON s.id = a.id JOIN rtl_call_base c ON c.api_id = a.id
	WHERE (s.string GLOB 'hipGraphInstantiate*' OR s.string IN ('hipGraphExecUpdate', 'hipGraphDestroy'))
		AND c.result = 0);

-- graph_launch_id: the hipGraphLaunch that replays the captured call; times, result, stream and
-- thread are of that launch. NULL: the call itself, outside of graphs.
DROP VIEW rtl_collective;
CREATE VIEW rtl_collective AS
SELECT k.id, c.process_id, p.rank, c.id & 0xffffffffff AS correlation_id, s.string AS op,
	k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer,
	k.group_id, c.start_ns, c.end_ns, c.result, c.stream, c.tid, c.marker AS roctxId,
	NULL AS graph_launch_id
FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
JOIN rtl_process p ON p.id = c.process_id JOIN rocpd_string s ON s.id = c.api_id
WHERE k.id NOT IN (SELECT id FROM rtl_captured)
UNION ALL
SELECT k.id, c.process_id, p.rank, l.id & 0xffffffffff, s.string,
	k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer,
	k.group_id, l.start_ns, l.end_ns, l.result, l.stream, l.tid, l.marker, l.id
FROM rtl_call_base l
JOIN rtl_graph_call m ON m.id = (SELECT max(i.id) FROM rtl_graph_call i
	WHERE i.process_id = l.process_id AND i.graph_exec = printf('0x%x', l.graph_exec) AND i.id < l.id)
JOIN rtl_captured g ON printf('0x%x', g.graph) = m.graph
JOIN rtl_collective_base k ON k.id = g.id AND k.id >> 40 = l.process_id AND k.id < m.id
	AND k.id > coalesce((SELECT max(d.id) FROM rtl_graph_call d WHERE d.process_id = m.process_id
		AND d.api = 'hipGraphDestroy' AND d.graph = m.graph AND d.id < m.id), 0)
JOIN rtl_call_base c ON c.id = k.id
JOIN rtl_process p ON p.id = c.process_id JOIN rocpd_string s ON s.id = c.api_id
WHERE l.graph_exec IS NOT NULL AND l.result = 0;
