-- SPDX-License-Identifier: MIT
-- What other tools recorded (rtl import). docs/formats.md says which fields of which format come here.

CREATE TABLE rtl_import (
	id INTEGER PRIMARY KEY,
	file TEXT NOT NULL,		-- its name, without its folder
	kind TEXT NOT NULL,		-- the format: torch | rocprofv3 | rocpd | rpd | trace-lite | aorta | rtl
	source TEXT,			-- the tool whose losses are not known; NULL: the ledger is here
	sha256 TEXT NOT NULL UNIQUE,	-- of the file's bytes, in hex
	size INTEGER NOT NULL,		-- bytes
	events INTEGER NOT NULL,	-- that became rows
	skipped INTEGER NOT NULL,	-- that have no place here
	imported_ns INTEGER NOT NULL	-- CLOCK_REALTIME
);

ALTER TABLE rtl_process ADD COLUMN import_id INTEGER;	-- of rtl_import; NULL: recorded here
-- What the times of a session's processes count from: realtime | unknown; without a row boottime. What
-- imports add to rows of sessions, calls, collectives and metrics stands in tables of its own: programs
-- that write such rows name all columns or none.
CREATE TABLE rtl_session_clock (
	session_id INTEGER PRIMARY KEY,
	clock TEXT NOT NULL
);
-- The stream whose kernels are in this queue, where the format has streams in place of queues.
ALTER TABLE rtl_queue ADD COLUMN stream INTEGER;
-- The step that a file names for a metric; without a row it is the how many-th mark of its name.
CREATE TABLE rtl_metric_step (
	process_id INTEGER NOT NULL,
	marker_id INTEGER NOT NULL,
	name_id INTEGER NOT NULL,
	step INTEGER NOT NULL,
	PRIMARY KEY (process_id, marker_id, name_id)
) WITHOUT ROWID;

-- Operations of a framework on the host: what PyTorch calls aten::mm, and frames of Python. What a
-- program annotates is a range (rtl_marker). id: process_id << 40 | number in the process, in the order of their begins.
CREATE TABLE rtl_op_base (
	id INTEGER PRIMARY KEY,
	parent INTEGER,			-- number of the operation around it, on the same thread
	tid INTEGER NOT NULL,
	name_id INTEGER NOT NULL REFERENCES rocpd_string (id),
	kind TEXT NOT NULL,		-- op | python
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	external_id INTEGER,		-- the profiler's own number of it
	sequence INTEGER,		-- of autograd: a forward operation and its backward one share it
	forward_tid INTEGER,		-- of a backward operation: the thread of its forward one
	shapes_id INTEGER REFERENCES rocpd_string (id),	-- JSON: the dimensions of each input
	types_id INTEGER REFERENCES rocpd_string (id),	-- JSON: the element type of each input
	marker INTEGER			-- innermost range around it
);

CREATE VIEW rtl_op AS
SELECT o.id, o.id >> 40 AS process_id, p.rank, o.id & 0xffffffffff AS op_id, o.parent AS parent_id, o.tid,
	n.string AS name, o.kind, o.start_ns, o.end_ns, o.external_id, o.sequence, o.forward_tid,
	s.string AS shapes, t.string AS types, o.marker AS roctxId
FROM rtl_op_base o JOIN rtl_process p ON p.id = o.id >> 40
JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id LEFT JOIN rocpd_string t ON t.id = o.types_id;

-- The operation around a call, and the number that the call had in the file that it came from.
CREATE TABLE rtl_call_import (
	id INTEGER PRIMARY KEY,		-- of rtl_call_base
	op INTEGER,
	foreign_id INTEGER
);

-- A collective that a kernel's own description tells of has no call: its number is none of a call's, and
-- launch_id is the call that launched the kernel, or the number itself.
CREATE TABLE rtl_collective_import (
	id INTEGER PRIMARY KEY,		-- of rtl_collective_base
	op_id INTEGER NOT NULL REFERENCES rocpd_string (id),	-- the name of the operation
	in_split TEXT,			-- JSON: elements for each rank, of an all-to-all of unequal parts
	out_split TEXT
);

-- How much another tool should have recorded is not known.
DROP VIEW rtl_account;
CREATE VIEW rtl_account AS
SELECT q.process_id, q.queueId, q.gpuId, CASE WHEN i.source IS NULL THEN q.dispatched END AS dispatched,
	q.skipped, q.stored, q.stored - q.untimed AS timed, q.untimed, q.outstanding, q.dropped, q.torn,
	CASE WHEN i.source IS NULL
		THEN q.dispatched - q.skipped - q.stored - q.outstanding - q.dropped - q.torn END AS pending
FROM rtl_queue q LEFT JOIN rtl_process p ON p.id = q.process_id LEFT JOIN rtl_import i ON i.id = p.import_id;

DROP VIEW rtl_metric;
CREATE VIEW rtl_metric AS
SELECT m.process_id, p.rank, s.string AS name,
	coalesce(n.step, row_number() OVER (PARTITION BY m.process_id, m.name_id
		ORDER BY m.time_ns, m.marker_id) - 1) AS step,
	m.value, m.time_ns, m.tid, m.parent AS roctxId
FROM rtl_metric_base m JOIN rtl_process p ON p.id = m.process_id
JOIN rocpd_string s ON s.id = m.name_id
LEFT JOIN rtl_metric_step n ON n.process_id = m.process_id AND n.marker_id = m.marker_id
	AND n.name_id = m.name_id;

DROP VIEW rtl_host_call;
CREATE VIEW rtl_host_call AS
SELECT c.id, c.process_id, p.rank, c.id & 0xffffffffff AS correlation_id,
	c.parent AS parent_id, c.tid, s.string AS api, c.start_ns, c.end_ns, c.result, c.stream,
	c.marker AS roctxId, c.arguments, c.graph_exec, c.graph_launch, x.op AS op_id, x.foreign_id
FROM rtl_call_base c JOIN rtl_process p ON p.id = c.process_id
JOIN rocpd_string s ON s.id = c.api_id LEFT JOIN rtl_call_import x ON x.id = c.id;

-- A call's row is process_id << 40 | its number in the process: no look-up is needed for api_id,
-- and SQLite leaves a join out unless a query reads its columns.
DROP VIEW rocpd_op;
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
	CASE WHEN c.graph_launch IS NOT NULL THEN d.node END AS graph_node, q.stream
FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
JOIN rtl_process p ON p.id = h.process_id
LEFT JOIN rtl_untimed_reason u ON u.id = d.untimed
LEFT JOIN rtl_call_base c ON c.id = (h.process_id << 40 | d.call)
LEFT JOIN rtl_queue q ON q.process_id = h.process_id AND q.queueId = h.queueId;

-- graph_launch_id: the hipGraphLaunch that replays the captured call; times, result, stream and
-- thread are of that launch. NULL: the call itself, outside of graphs. Of one that a kernel tells of
-- (from_kernel) times, thread and range are of the call that launched the kernel, where that is known.
DROP VIEW rtl_collective;
CREATE VIEW rtl_collective AS
SELECT k.id, k.id >> 40 AS process_id, p.rank, k.id & 0xffffffffff AS correlation_id, s.string AS op,
	k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer,
	k.group_id, c.start_ns, c.end_ns, c.result, c.stream, c.tid, c.marker AS roctxId,
	NULL AS graph_launch_id, x.in_split, x.out_split, x.id IS NOT NULL AS from_kernel
FROM rtl_collective_base k LEFT JOIN rtl_collective_import x ON x.id = k.id
LEFT JOIN rtl_call_base c ON c.id = CASE WHEN x.id IS NULL THEN k.id ELSE k.launch_id END
JOIN rtl_process p ON p.id = k.id >> 40 JOIN rocpd_string s ON s.id = coalesce(x.op_id, c.api_id)
WHERE k.id NOT IN (SELECT id FROM rtl_captured)
UNION ALL
SELECT k.id, c.process_id, p.rank, l.id & 0xffffffffff, s.string,
	k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer,
	k.group_id, l.start_ns, l.end_ns, l.result, l.stream, l.tid, l.marker, l.id, NULL, NULL, 0
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
