-- SPDX-License-Identifier: MIT
-- since 14
-- The collectives that the call ?1 launched, or a call around it, in order; those that kernels of an import tell of are
-- of the call that launched the kernel, or where that is not known of their own number.
WITH RECURSIVE up (id, parent) AS (
	SELECT ?1, (SELECT parent FROM rtl_call_base WHERE id = ?1)
	UNION
	SELECT c.id, c.parent
	FROM up JOIN rtl_call_base c ON c.id = (?1 >> 40 << 40 | up.parent) WHERE up.parent IS NOT NULL)
SELECT k.id, coalesce(x.op_id, c.api_id), k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype,
	k.reduction, k.peer
FROM up JOIN rtl_collective_base k ON k.launch_id = up.id LEFT JOIN rtl_call_base c ON c.id = k.id
LEFT JOIN rtl_collective_import x ON x.id = k.id WHERE x.id IS NULL OR up.id = ?1 ORDER BY k.id;
