-- SPDX-License-Identifier: MIT
-- since 5
-- Every host call with what it is of a collective, outer ones first: a call's number is given at its begin.
SELECT c.id, c.process_id, c.tid, c.api_id, c.start_ns, c.end_ns, c.result, c.parent, c.marker, c.arguments,
	c.stream, c.graph_exec, c.graph_launch, k.id, k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes,
	k.datatype, k.reduction, k.peer
FROM rtl_call_base c LEFT JOIN rtl_collective_base k ON k.id = c.id ORDER BY c.id;
