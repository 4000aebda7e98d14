-- SPDX-License-Identifier: MIT
-- A part of the dispatches and what belongs to it, as if the file had nothing else.

-- query part_begin
-- do
-- From here on this connection sees the dispatches ?1 to ?2 alone; temporary names come before those of the file.
CREATE TEMP TABLE rtl_part (first_id, last_id, from_ns, to_ns);
INSERT INTO rtl_part (first_id, last_id) VALUES (?1, ?2);
CREATE TEMP VIEW rtl_dispatch AS SELECT d.rowid AS rowid, d.* FROM rtl_part p
	CROSS JOIN main.rtl_dispatch d ON d.rowid BETWEEN p.first_id AND p.last_id;

-- query part_times
-- do
-- And the markers from ?1 to ?2 alone.
UPDATE rtl_part SET from_ns = ?1, to_ns = ?2;
CREATE TEMP VIEW rtl_marker AS SELECT m.* FROM rtl_part p
	CROSS JOIN main.rtl_marker m ON m.start_ns <= p.to_ns AND coalesce(m.end_ns, p.to_ns) >= p.from_ns;

-- query part_copies
-- do
-- since 4
-- And the copies of that time.
CREATE TEMP VIEW rtl_copy_base AS SELECT c.* FROM rtl_part p
	CROSS JOIN main.rtl_copy_base c ON c.submit_ns <= p.to_ns AND coalesce(c.end_ns, c.submit_ns) >= p.from_ns;

-- query part_calls
-- do
-- since 5
-- And no host calls but those that part_calls_of adds.
CREATE TEMP TABLE rtl_call_base (id INTEGER PRIMARY KEY, process_id, parent, tid, api_id, start_ns, end_ns, result,
	stream, arguments, graph_exec, graph_launch);
CREATE INDEX temp.rtl_call_of_part ON rtl_call_base (process_id, parent) WHERE parent IS NOT NULL;
CREATE TEMP TABLE rtl_collective_base (id INTEGER PRIMARY KEY, launch_id, comm, comm_rank, comm_size, seq, bytes,
	datatype, peer);

-- query part_calls_of
-- do
-- since 5
-- The calls ?1 to ?2 that tell what the host waited for, and what moves data between ranks.
INSERT INTO temp.rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result)
SELECT id, process_id, parent, tid, api_id, start_ns, end_ns, result FROM main.rtl_call_base
WHERE id BETWEEN ?1 AND ?2 AND (parent IS NOT NULL OR api_id IN (
	SELECT a.id FROM rtl_api a JOIN rocpd_string n ON n.id = a.id WHERE n.string GLOB 'nccl*'
		OR n.string GLOB 'hip*Synchronize*' OR n.string GLOB 'hip*Free*' OR n.string GLOB 'hipMemcpy*'));
INSERT INTO temp.rtl_collective_base (id, launch_id, comm, comm_rank, comm_size, seq, bytes, datatype, peer)
SELECT id, launch_id, comm, comm_rank, comm_size, seq, bytes, datatype, peer FROM main.rtl_collective_base
WHERE id BETWEEN ?1 AND ?2;

-- query part_captured
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

-- query part_end
-- do
-- All of the file again.
DROP VIEW IF EXISTS temp.rtl_dispatch;
DROP VIEW IF EXISTS temp.rtl_marker;
DROP VIEW IF EXISTS temp.rtl_copy_base;
DROP TABLE IF EXISTS temp.rtl_call_base;
DROP TABLE IF EXISTS temp.rtl_collective_base;
DROP TABLE IF EXISTS temp.rtl_part;

-- query is_part
-- Does this connection look at a part of the dispatches (part_begin)?
SELECT count(*) FROM temp.sqlite_schema WHERE name = 'rtl_dispatch';

-- query part_range
-- do
-- The first and the last row of the part.
SELECT first_id, last_id FROM temp.rtl_part;
