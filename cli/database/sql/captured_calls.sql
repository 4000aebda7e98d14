-- SPDX-License-Identifier: MIT
-- since 13
-- RCCL calls that were captured into a graph, those of one launch together.
SELECT k.id, k.launch_id, g.graph, k.comm_size, c.stream FROM rtl_captured g
JOIN rtl_collective_base k ON k.id = g.id JOIN rtl_call_base c ON c.id = k.id
ORDER BY k.launch_id, g.graph, k.id;
