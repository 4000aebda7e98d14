-- SPDX-License-Identifier: MIT
-- since 5
-- Every rank's part of every collective.
SELECT k.id, k.launch_id, k.comm, k.comm_rank, k.comm_size, k.seq, k.bytes, k.datatype, s.string,
	k.peer, c.result
FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
JOIN rocpd_string s ON s.id = c.api_id ORDER BY k.id;
