-- SPDX-License-Identifier: MIT
-- The number of a dispatch's row is its rowid alone. For a column that names it SQLite would look
-- through the table before each insert, though rows are only ever appended. ADR 0045.
PRAGMA legacy_alter_table = ON; -- views go on to mean the new one
ALTER TABLE rtl_dispatch RENAME TO rtl_dispatch_9;
PRAGMA legacy_alter_table = OFF;

-- submit: ns between submission and start; where start is NULL, the time of submission.
-- untimed: NULL, or enum rtl_untimed. call: the host call that caused it; node: its position
-- among the dispatches of that call.
CREATE TABLE rtl_dispatch (
	shape_id INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	start INTEGER,
	duration INTEGER,
	submit INTEGER,
	tid INTEGER,
	marker INTEGER,
	untimed INTEGER,
	call INTEGER,
	node INTEGER
);
INSERT INTO rtl_dispatch (rowid, shape_id, seq, start, duration, submit, tid, marker, untimed, call, node)
SELECT rowid, shape_id, seq, start, duration, submit, tid, marker, untimed, call, node FROM rtl_dispatch_9;
DROP TABLE rtl_dispatch_9;

DROP VIEW rocpd_op;
-- A call's row is process_id << 40 | its number in the process: no look-up is needed for api_id,
-- and SQLite leaves the join out where nobody asks for the graph.
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
