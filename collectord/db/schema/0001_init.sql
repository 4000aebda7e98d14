-- SPDX-License-Identifier: MIT
-- Schema 1 of a session database. docs/schema.md is the reader's guide.
--
-- Tables ending in _base and rtl_shape/rtl_dispatch are private: integers and interned ids
-- only, appended by one writer. What users read are the views (and the small tables below
-- that need none). Times are ns of CLOCK_BOOTTIME unless the name says otherwise; what is
-- unknown is NULL. Keys that join rows are scoped by process_id.

-- Every text once. A kernel's own row (rtl_kernel_base.id) holds its demangled name, so
-- rocpd_op.description_id joins rocpd_string and rtl_kernel alike.
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT NOT NULL);
INSERT INTO rocpd_string (id, string) VALUES (1, 'KernelExecution');

CREATE TABLE rtl_meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE rtl_session (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	job TEXT,			-- launcher's job key
	uid INTEGER NOT NULL,
	command TEXT,
	host TEXT,
	start_ns INTEGER NOT NULL,
	start_realtime_ns INTEGER NOT NULL,
	end_ns INTEGER,			-- NULL while it is open
	exit_status INTEGER		-- of the command that rtl run wrapped: 0-255, 128+signal
);

-- One shim instance. ended: NULL while it lives, else exited | killed | exec | unknown |
-- detached (the session did not wait for it).
CREATE TABLE rtl_process (
	id INTEGER PRIMARY KEY,
	session_id INTEGER NOT NULL REFERENCES rtl_session (id),
	pid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	rank INTEGER,
	local_rank INTEGER,
	world_size INTEGER,
	launcher TEXT,
	attempt INTEGER,
	exe TEXT,
	host TEXT,
	boot_id TEXT NOT NULL,
	uid INTEGER NOT NULL,
	hw_frame INTEGER NOT NULL DEFAULT 0,	-- last frame whose rows are here
	duplicate_frames INTEGER NOT NULL DEFAULT 0,
	ended TEXT,
	exit_status INTEGER,
	drained INTEGER NOT NULL DEFAULT 0,
	token TEXT NOT NULL,			-- hex; with pid and start_time: the identity
	start_time INTEGER NOT NULL,		-- clock ticks since boot
	command TEXT,
	mode TEXT,
	front_end TEXT,
	runtime TEXT,
	shim_version TEXT,
	job TEXT
);

CREATE TABLE rtl_gpu (
	gpuId INTEGER PRIMARY KEY,
	kfd_node INTEGER,
	kfd_gpu_id INTEGER,
	domain INTEGER,
	bdf TEXT,
	unique_id TEXT,
	partition INTEGER,
	gfx TEXT,
	name TEXT
);

CREATE TABLE rtl_kernel_base (
	id INTEGER PRIMARY KEY REFERENCES rocpd_string (id),
	symbol TEXT NOT NULL			-- raw, with its .kd; kernel@0x... when unknown
);

-- What a dispatch repeats.
CREATE TABLE rtl_shape (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL,
	gpuId INTEGER NOT NULL,
	queueId INTEGER NOT NULL,
	kernel_id INTEGER NOT NULL,
	workgroupX INTEGER NOT NULL, workgroupY INTEGER NOT NULL, workgroupZ INTEGER NOT NULL,
	gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
	lds INTEGER NOT NULL,
	scratch INTEGER NOT NULL
);

-- submit: ns between submission and start; where start is NULL, the time of submission.
-- untimed: NULL, or enum rtl_untimed. call: the host call that caused it; node: its position
-- among the dispatches of that call.
CREATE TABLE rtl_dispatch (
	id INTEGER PRIMARY KEY,
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

CREATE TABLE rtl_untimed_reason (id INTEGER PRIMARY KEY, name TEXT NOT NULL);

-- Dispatched, not finished when the process ended.
CREATE TABLE rtl_outstanding (
	process_id INTEGER NOT NULL,
	gpuId INTEGER,
	queueId INTEGER NOT NULL,
	sequenceId INTEGER NOT NULL,
	description_id INTEGER,
	submit_ns INTEGER,
	tid INTEGER,
	roctxId INTEGER
);

-- The ledger, one row a queue, written in the transaction that stores the rows it counts:
-- dispatched = skipped + stored + outstanding + dropped + torn + pending.
CREATE TABLE rtl_queue (
	process_id INTEGER NOT NULL,
	queueId INTEGER NOT NULL,
	gpuId INTEGER,
	dispatched INTEGER NOT NULL DEFAULT 0,
	skipped INTEGER NOT NULL DEFAULT 0,
	stored INTEGER NOT NULL DEFAULT 0,
	untimed INTEGER NOT NULL DEFAULT 0,
	outstanding INTEGER NOT NULL DEFAULT 0,
	dropped INTEGER NOT NULL DEFAULT 0,
	torn INTEGER NOT NULL DEFAULT 0,
	busy_ns INTEGER NOT NULL DEFAULT 0,	-- sum of stored durations
	last_end_ns INTEGER,
	PRIMARY KEY (process_id, queueId)
) WITHOUT ROWID;

CREATE VIEW rtl_account AS
SELECT process_id, queueId, gpuId, dispatched, skipped, stored, stored - untimed AS timed,
	untimed, outstanding, dropped, torn,
	dispatched - skipped - stored - outstanding - dropped - torn AS pending
FROM rtl_queue;

-- Diagnostic counters, live. queueId -1 (NULL in the view): of the whole process.
CREATE TABLE rtl_counter_base (
	process_id INTEGER NOT NULL,
	queueId INTEGER NOT NULL,
	name TEXT NOT NULL,
	value INTEGER NOT NULL,
	PRIMARY KEY (process_id, queueId, name)
) WITHOUT ROWID;
CREATE VIEW rtl_counter AS
SELECT process_id, nullif(queueId, -1) AS queueId, name, value FROM rtl_counter_base;

-- What is missing and why. count NULL: unknown. from/to: when it was noticed, if known.
-- dropped_*, torn: dispatches without a row. untimed_*: rows without a time. unknown_tail: the
-- collector did not read the end of the process. dropped_markers, corrupt_*, bad_recorder: counts of those.
-- queues_coop, queues_ineligible: queues left plain; what ran on them is not even counted.
CREATE TABLE rtl_loss (
	process_id INTEGER NOT NULL,
	reason TEXT NOT NULL,
	count INTEGER,
	from_ns INTEGER,
	to_ns INTEGER,
	PRIMARY KEY (process_id, reason)
) WITHOUT ROWID;

-- Anchors between GPU ticks and the host's clocks.
CREATE TABLE rtl_clock (
	process_id INTEGER NOT NULL,
	gpuId INTEGER NOT NULL,
	tick INTEGER NOT NULL,
	tick_hz INTEGER NOT NULL,
	boottime_ns INTEGER NOT NULL,
	realtime_ns INTEGER NOT NULL
);

-- roctx. end_ns NULL: still open, or open when the process died. kind: push | start | mark.
CREATE TABLE rtl_marker_base (
	process_id INTEGER NOT NULL,
	id INTEGER NOT NULL,
	parent INTEGER,
	tid INTEGER,
	kind TEXT NOT NULL,
	text_id INTEGER,
	start_ns INTEGER,
	end_ns INTEGER,
	PRIMARY KEY (process_id, id)
) WITHOUT ROWID;
CREATE VIEW rtl_marker AS
SELECT m.process_id, m.id AS roctxId, m.parent, m.tid, m.kind, s.string AS text, m.start_ns,
	m.end_ns, p.rank
FROM rtl_marker_base m JOIN rtl_process p ON p.id = m.process_id
LEFT JOIN rocpd_string s ON s.id = m.text_id;

CREATE VIEW rtl_kernel AS
SELECT k.id, k.symbol, s.string AS name FROM rtl_kernel_base k JOIN rocpd_string s ON s.id = k.id;

-- A call's row is process_id << 40 | its number in the process: no look-up is needed for api_id,
-- and SQLite leaves the join out unless a query reads the graph's columns.
CREATE VIEW rocpd_op AS
SELECT d.id, h.gpuId, h.queueId, d.seq AS sequenceId,
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

-- Per-shape sums first: names are joined to a few thousand rows, not to every dispatch.
CREATE VIEW top AS
WITH shape AS (
	SELECT shape_id, count(*) AS calls, sum(duration) AS total, min(duration) AS low,
		max(duration) AS high, count(duration) AS timed
	FROM rtl_dispatch GROUP BY shape_id),
kernel AS (
	SELECT s.string AS name, sum(calls) AS calls, coalesce(sum(total), 0) AS total,
		sum(timed) AS timed, min(low) AS low, max(high) AS high
	FROM shape JOIN rtl_shape h ON h.id = shape.shape_id
	JOIN rocpd_string s ON s.id = h.kernel_id GROUP BY s.string)
SELECT name AS Name, calls AS Calls, total AS TotalNs,
	CASE WHEN timed > 0 THEN total / timed END AS AvgNs, low AS MinNs, high AS MaxNs,
	round(100.0 * total / nullif((SELECT sum(total) FROM kernel), 0), 2) AS Pct
FROM kernel ORDER BY total DESC, name;

-- busy_ns is the union of the intervals of a GPU: two queues at once do not count twice.
CREATE VIEW busy AS
WITH op AS (
	SELECT h.gpuId, d.start, d.start + d.duration AS stop
	FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id WHERE d.start IS NOT NULL),
reached AS (
	SELECT gpuId, start, stop, max(stop) OVER (PARTITION BY gpuId ORDER BY start, stop
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach FROM op),
gpu AS (
	SELECT gpuId, count(*) AS ops, sum(max(0, stop - max(start, coalesce(reach, start)))) AS busy,
		max(stop) - min(start) AS wall
	FROM reached GROUP BY gpuId)
SELECT gpuId, round(100.0 * busy / nullif(wall, 0), 2) AS utilization_pct, ops, busy AS busy_ns,
	wall AS wall_ns
FROM gpu ORDER BY gpuId;
