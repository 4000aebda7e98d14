-- SPDX-License-Identifier: MIT
-- do
-- since 5
-- And no host calls but those that part_calls_of adds.
CREATE TEMP TABLE rtl_call_base (id INTEGER PRIMARY KEY, process_id, parent, tid, api_id, start_ns, end_ns, result,
	stream, arguments, graph_exec, graph_launch);
CREATE INDEX temp.rtl_call_of_part ON rtl_call_base (process_id, parent) WHERE parent IS NOT NULL;
CREATE TEMP TABLE rtl_collective_base (id INTEGER PRIMARY KEY, launch_id, comm, comm_rank, comm_size, seq, bytes,
	datatype, peer);
