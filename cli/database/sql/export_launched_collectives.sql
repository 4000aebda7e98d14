-- SPDX-License-Identifier: MIT
-- since 5
-- The collectives that the call ?1 launched, or a call around it, in order.
WITH RECURSIVE up (id, process_id, parent) AS (
	SELECT id, process_id, parent FROM rtl_call_base WHERE id = ?1
	UNION
	SELECT c.id, c.process_id, c.parent
	FROM up JOIN rtl_call_base c ON c.id = (up.process_id << 40 | up.parent) WHERE up.parent IS NOT NULL)
SELECT k.id, c.api_id, k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer
FROM up JOIN rtl_collective_base k ON k.launch_id = up.id JOIN rtl_call_base c ON c.id = k.id ORDER BY k.id;
