-- SPDX-License-Identifier: MIT
-- Host calls, the operations between ranks among them, and the graphs that they make and launch.

-- query api_names
-- since 5
-- The functions that occur.
SELECT a.id, s.string FROM rtl_api a JOIN rocpd_string s ON s.id = a.id;

-- query host_calls
-- since 5
-- HIP's and RCCL's functions, each call, in the order of its number.
SELECT id, api_id, start_ns, end_ns, result FROM rtl_call_base ORDER BY id;

-- query nested_calls
-- since 5
-- Calls within calls, the outer ones first: a call's number is given at its begin.
SELECT id, process_id, parent FROM rtl_call_base WHERE parent IS NOT NULL ORDER BY id;

-- query unlinked
-- Dispatches of processes whose host calls were recorded, outside of all of them.
SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = 'unlinked';

-- query collectives
-- since 5
-- Every call that moves data between ranks, in the order of its number.
SELECT id, datatype, comm, comm_size, bytes FROM rtl_collective_base ORDER BY id;

-- query collective_processes
-- since 5
-- Processes that called operations between ranks.
SELECT DISTINCT c.process_id FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id;

-- query collective_parts
-- since 5
-- Every rank's part of every collective.
SELECT k.id, k.launch_id, k.comm, k.comm_rank, k.comm_size, k.seq, k.bytes, k.datatype, s.string,
	k.peer, c.result
FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
JOIN rocpd_string s ON s.id = c.api_id ORDER BY k.id;

-- query kernel_collective_parts
-- since 14
-- Every rank's part of the collectives that kernels tell of, where no call of them was recorded.
SELECT k.id, k.launch_id, k.comm, k.comm_rank, k.comm_size, k.seq, k.bytes, k.datatype, s.string,
	k.peer, 0
FROM rtl_collective_base k JOIN rtl_collective_import m ON m.id = k.id
JOIN rocpd_string s ON s.id = m.op_id ORDER BY k.id;

-- query captured_calls
-- since 13
-- RCCL calls that were captured into a graph, those of one launch together.
SELECT k.id, k.launch_id, g.graph, k.comm_size, c.stream FROM rtl_captured g
JOIN rtl_collective_base k ON k.id = g.id JOIN rtl_call_base c ON c.id = k.id
ORDER BY k.launch_id, g.graph, k.id;

-- query captured_kernels
-- since 13
-- The kernels that captured RCCL calls launched into their graphs, as HIP's calls within them say: on
-- which stream, and how large, in work-items.
WITH RECURSIVE inside (launch_id, id) AS (
	SELECT k.launch_id, k.launch_id FROM rtl_captured g JOIN rtl_collective_base k ON k.id = g.id
	UNION
	SELECT i.launch_id, c.id FROM inside i
	JOIN rtl_call_base c ON c.process_id = i.id >> 40 AND c.parent = i.id & 0xffffffffff)
SELECT i.launch_id, c.stream,
	coalesce(c.arguments ->> 'localX', c.arguments ->> 'blockX'),
	coalesce(c.arguments ->> 'localY', c.arguments ->> 'blockY'),
	coalesce(c.arguments ->> 'localZ', c.arguments ->> 'blockZ'),
	coalesce(c.arguments ->> 'globalX', (c.arguments ->> 'gridX') * (c.arguments ->> 'blockX')),
	coalesce(c.arguments ->> 'globalY', (c.arguments ->> 'gridY') * (c.arguments ->> 'blockY')),
	coalesce(c.arguments ->> 'globalZ', (c.arguments ->> 'gridZ') * (c.arguments ->> 'blockZ'))
FROM inside i JOIN rtl_call_base c ON c.id = i.id JOIN rocpd_string s ON s.id = c.api_id
WHERE s.string GLOB 'hip*Launch*Kernel*' AND c.result = 0 ORDER BY i.launch_id, c.id;

-- query graph_calls
-- since 13
-- What made each executable graph, ended each graph, and launched each executable one, in the order
-- of the calls' begins. what: 0 made or updated, 1 ended, 2 launched.
SELECT id, api = 'hipGraphDestroy', graph_exec, graph, NULL FROM rtl_graph_call
UNION ALL
SELECT id, 2, printf('0x%x', graph_exec), NULL, graph_launch FROM rtl_call_base
WHERE graph_exec IS NOT NULL AND result = 0 ORDER BY 1;

-- query graph_nodes
-- Every dispatch, with the call that caused it and its place among those of that call.
SELECT shape_id, call, node FROM rtl_dispatch;
