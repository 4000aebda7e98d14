-- SPDX-License-Identifier: MIT
-- since 5
-- Collectives of all ranks by operation, datatype and size of the communicator.
SELECT s.string, coalesce(k.datatype, ''), coalesce(k.comm_size, 0), count(*),
	CAST(total(k.bytes) AS INTEGER), count(DISTINCT k.comm), count(DISTINCT c.process_id)
FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
JOIN rocpd_string s ON s.id = c.api_id
GROUP BY 1, 2, 3 ORDER BY 5 DESC, 1, 2, 3;
