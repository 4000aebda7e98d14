-- SPDX-License-Identifier: MIT
-- Which dispatches of a graph's launch belong to the RCCL calls that were captured into it. Kernels that
-- were captured from one stream are dispatched in the order of the capture, one a call or group; where
-- calls come from several streams, or a launch has more or fewer communication kernels than the graph
-- has calls, nothing is told. A view of its own: collective_id alone names a captured call, not a launch
-- of it, and joins with rtl_collective_kernel know nothing of launches.
CREATE VIEW rtl_graph_collective_kernel AS
WITH launch AS (
	SELECT l.id, l.process_id, (SELECT max(i.id) FROM rtl_graph_call i
		WHERE i.process_id = l.process_id AND i.graph_exec = printf('0x%x', l.graph_exec)
			AND i.id < l.id) AS made
	FROM rtl_call_base l WHERE l.graph_exec IS NOT NULL AND l.result = 0),
node AS (
	SELECT d.rowid AS dispatch_id, l.id AS launch_id, l.made,
		row_number() OVER (PARTITION BY l.id ORDER BY d.node) AS place,
		count(*) OVER (PARTITION BY l.id) AS nodes
	FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
	JOIN launch l ON l.id = (h.process_id << 40 | d.call)
	WHERE d.node IS NOT NULL
		AND h.kernel_id IN (SELECT id FROM rtl_kernel WHERE category = 'communication')),
unit AS (
	SELECT m.id AS made, k.launch_id, max(k.comm_size) AS ranks, min(c.stream) AS first_stream,
		max(c.stream) AS last_stream
	FROM rtl_graph_call m JOIN rtl_captured g ON printf('0x%x', g.graph) = m.graph
	JOIN rtl_collective_base k ON k.id = g.id AND k.id >> 40 = m.process_id AND k.id < m.id
		AND k.id > coalesce((SELECT max(d.id) FROM rtl_graph_call d WHERE d.process_id = m.process_id
			AND d.api = 'hipGraphDestroy' AND d.graph = m.graph AND d.id < m.id), 0)
	JOIN rtl_call_base c ON c.id = k.id
	WHERE m.graph_exec IS NOT NULL GROUP BY m.id, k.launch_id),
-- A communicator of one rank copies, or does nothing.
place AS (
	SELECT made, launch_id, row_number() OVER (PARTITION BY made ORDER BY launch_id) AS place,
		count(*) OVER (PARTITION BY made) AS units,
		min(first_stream) OVER (PARTITION BY made) = max(last_stream) OVER (PARTITION BY made) AS is_one
	FROM unit WHERE ranks > 1)
SELECT k.id AS collective_id, n.launch_id AS graph_launch_id, n.dispatch_id
FROM node n JOIN place p ON p.made = n.made AND p.place = n.place AND p.units = n.nodes AND p.is_one
JOIN rtl_collective_base k ON k.launch_id = p.launch_id;
