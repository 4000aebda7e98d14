-- SPDX-License-Identifier: MIT
-- Host calls (HIP) and collectives (RCCL). id: process_id << 40 | number in the process; a
-- dispatch carries the number in its own row (rocpd_op.correlation_id, api_id).

-- The functions: name, and the names of their arguments as "bytes,kind,..." in order.
CREATE TABLE rtl_api (
	id INTEGER PRIMARY KEY REFERENCES rocpd_string (id),	-- of the function's name
	arguments TEXT NOT NULL
);

CREATE TABLE rtl_call_base (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL,
	parent INTEGER,			-- number of the call around it
	tid INTEGER NOT NULL,
	api_id INTEGER NOT NULL REFERENCES rtl_api (id),
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	result INTEGER NOT NULL,	-- 0: success
	stream INTEGER,
	marker INTEGER,
	arguments TEXT,			-- JSON object of what the function was given
	graph_exec INTEGER,		-- hipGraphLaunch: which executable graph, and
	graph_launch INTEGER		-- its how many-th launch this was, from 0
);
-- Calls within calls are few.
CREATE INDEX rtl_call_parent ON rtl_call_base (process_id, parent) WHERE parent IS NOT NULL;

CREATE VIEW rtl_host_call AS
SELECT c.id, c.process_id, p.rank, c.id & 0xffffffffff AS correlation_id,
	c.parent AS parent_id, c.tid, s.string AS api, c.start_ns, c.end_ns, c.result, c.stream,
	c.marker AS roctxId, c.arguments, c.graph_exec, c.graph_launch
FROM rtl_call_base c JOIN rtl_process p ON p.id = c.process_id
JOIN rocpd_string s ON s.id = c.api_id;

-- As rocm-trace-lite and RPD have it, with rank and process_id behind.
CREATE VIEW rocpd_api AS
SELECT c.id, p.pid, c.tid, c.start_ns AS start, c.end_ns AS "end", c.api_id AS apiName_id,
	NULL AS args_id, p.rank, c.process_id, c.arguments AS args
FROM rtl_call_base c JOIN rtl_process p ON p.id = c.process_id;

-- What a call that moves data between ranks adds; those that manage communicators and groups have
-- no row here. NULL: not known.
CREATE TABLE rtl_collective_base (
	id INTEGER PRIMARY KEY REFERENCES rtl_call_base (id),
	comm INTEGER,			-- the same number on all ranks of the communicator
	comm_rank INTEGER,
	comm_size INTEGER,
	seq INTEGER,			-- within the communicator, from 0; send and receive: of the pair
	count INTEGER NOT NULL,		-- elements, as the call was given them
	bytes INTEGER NOT NULL,		-- of this rank's contribution
	datatype TEXT,
	reduction TEXT,
	peer INTEGER,			-- of send and receive; root of a rooted one
	group_id INTEGER,		-- number of the ncclGroupEnd that launched it
	launch_id INTEGER NOT NULL	-- the call in which its kernels start: itself, or that end
);
CREATE INDEX rtl_collective_launch ON rtl_collective_base (launch_id);

CREATE VIEW rtl_collective AS
SELECT k.id, c.process_id, p.rank, c.id & 0xffffffffff AS correlation_id, s.string AS op,
	k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer,
	k.group_id, c.start_ns, c.end_ns, c.result, c.stream, c.tid, c.marker AS roctxId
FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
JOIN rtl_process p ON p.id = c.process_id JOIN rocpd_string s ON s.id = c.api_id;

-- The dispatches that a collective caused: those of its own call, or of the ncclGroupEnd that
-- launched it, and of the calls within. Collectives of one group share their kernels.
CREATE VIEW rtl_collective_kernel AS
WITH RECURSIVE inside (launch_id, process_id, call) AS (
	SELECT launch_id, launch_id >> 40, launch_id & 0xffffffffff FROM rtl_collective_base
	UNION
	SELECT i.launch_id, c.process_id, c.id & 0xffffffffff
	FROM inside i JOIN rtl_call_base c ON c.process_id = i.process_id AND c.parent = i.call)
SELECT k.id AS collective_id, d.id AS dispatch_id
FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id
JOIN inside i ON i.call = d.call AND i.process_id = h.process_id
JOIN rtl_collective_base k ON k.launch_id = i.launch_id
WHERE d.call IS NOT NULL;
