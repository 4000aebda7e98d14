-- SPDX-License-Identifier: MIT
-- since 14
-- Every rank's part of the collectives that kernels tell of, where no call of them was recorded.
SELECT k.id, k.launch_id, k.comm, k.comm_rank, k.comm_size, k.seq, k.bytes, k.datatype, s.string,
	k.peer, 0
FROM rtl_collective_base k JOIN rtl_collective_import m ON m.id = k.id
JOIN rocpd_string s ON s.id = m.op_id ORDER BY k.id;
