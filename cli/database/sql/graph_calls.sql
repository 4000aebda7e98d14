-- SPDX-License-Identifier: MIT
-- since 13
-- What made each executable graph, ended each graph, and launched each executable one, in the order
-- of the calls' begins. what: 0 made or updated, 1 ended, 2 launched.
SELECT id, api = 'hipGraphDestroy', graph_exec, graph, NULL FROM rtl_graph_call
UNION ALL
SELECT id, 2, printf('0x%x', graph_exec), NULL, graph_launch FROM rtl_call_base
WHERE graph_exec IS NOT NULL AND result = 0 ORDER BY 1;
