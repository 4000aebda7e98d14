-- SPDX-License-Identifier: MIT
-- since 3
-- The calls whose dispatches move data between ranks, and which operation that is: collectives, the
-- ends of their groups, and what these call themselves. NULL: a group of several.
WITH RECURSIVE inside (id, op) AS (
	SELECT k.launch_id, c.api_id FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id
	UNION
	SELECT c.id, i.op FROM inside i JOIN rtl_call_base c
		ON c.process_id = i.id >> 40 AND c.parent = i.id & 0xffffffffff)
SELECT i.id, CASE WHEN min(i.op) = max(i.op) THEN s.string END
FROM inside i JOIN rocpd_string s ON s.id = i.op GROUP BY i.id ORDER BY i.id;
