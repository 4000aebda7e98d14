-- SPDX-License-Identifier: MIT
-- since 13
-- The kernels that captured RCCL calls launched into their graphs, as HIP's calls within them say: on
-- which stream, and how large, in work-items.
WITH RECURSIVE inside (launch_id, id) AS (
	SELECT k.launch_id, k.launch_id FROM rtl_captured g JOIN rtl_collective_base k ON k.id = g.id
	UNION
	SELECT i.launch_id, c.id FROM inside i
	JOIN rtl_call_base c ON c.process_id = i.id >> 40 AND c.parent = i.id & 0xffffffffff)
SELECT i.launch_id, c.stream,
	coalesce(c.arguments ->> 'localX', c.arguments ->> 'blockX'),
	coalesce(c.arguments ->> 'localY', c.arguments ->> 'blockY'),
	coalesce(c.arguments ->> 'localZ', c.arguments ->> 'blockZ'),
	coalesce(c.arguments ->> 'globalX', (c.arguments ->> 'gridX') * (c.arguments ->> 'blockX')),
	coalesce(c.arguments ->> 'globalY', (c.arguments ->> 'gridY') * (c.arguments ->> 'blockY')),
	coalesce(c.arguments ->> 'globalZ', (c.arguments ->> 'gridZ') * (c.arguments ->> 'blockZ'))
FROM inside i JOIN rtl_call_base c ON c.id = i.id JOIN rocpd_string s ON s.id = c.api_id
WHERE s.string GLOB 'hip*Launch*Kernel*' AND c.result = 0 ORDER BY i.launch_id, c.id;
