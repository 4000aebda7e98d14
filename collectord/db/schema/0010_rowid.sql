-- SPDX-License-Identifier: MIT
-- The number of a dispatch's row is its rowid, whether or not a column names it: 0011.
DROP VIEW rocpd_op;
-- A call's row is process_id << 40 | its number in the process: no look-up is needed for api_id,
-- and SQLite leaves the join out unless a query reads the graph's columns.
CREATE VIEW rocpd_op AS
SELECT d.rowid AS id, h.gpuId, h.queueId, d.seq AS sequenceId,
	'wg=' || h.workgroupX || ',' || h.workgroupY || ',' || h.workgroupZ ||
		' grid=' || h.gridX || ',' || h.gridY || ',' || h.gridZ AS completionSignal,
	d.start, d.start + d.duration AS "end", h.kernel_id AS description_id, 1 AS opType_id,
	d.marker AS roctxId, p.rank, h.process_id,
	CASE WHEN d.start IS NULL THEN d.submit ELSE d.start - d.submit END AS submit_ns, d.tid,
	h.workgroupX, h.workgroupY, h.workgroupZ, h.gridX, h.gridY, h.gridZ,
	d.call AS correlation_id, h.process_id << 40 | d.call AS api_id, 0 AS node_id,
	u.name AS reason, c.graph_exec, c.graph_launch,
	CASE WHEN c.graph_exec IS NOT NULL THEN d.node END AS graph_node
FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
JOIN rtl_process p ON p.id = h.process_id
LEFT JOIN rtl_untimed_reason u ON u.id = d.untimed
LEFT JOIN rtl_call_base c ON c.id = (h.process_id << 40 | d.call);

DROP VIEW rtl_collective_kernel;
-- The dispatches that a collective caused: those of its own call, or of the ncclGroupEnd that
-- launched it, and of the calls within. Collectives of one group share their kernels.
CREATE VIEW rtl_collective_kernel AS
WITH RECURSIVE inside (launch_id, process_id, call) AS (
	SELECT launch_id, launch_id >> 40, launch_id & 0xffffffffff FROM rtl_collective_base
	UNION
	SELECT i.launch_id, c.process_id, c.id & 0xffffffffff
	FROM inside i JOIN rtl_call_base c ON c.process_id = i.process_id AND c.parent = i.call)
SELECT k.id AS collective_id, d.rowid AS dispatch_id
FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
JOIN inside i ON i.call = d.call AND i.process_id = h.process_id
JOIN rtl_collective_base k ON k.launch_id = i.launch_id
WHERE d.call IS NOT NULL;
