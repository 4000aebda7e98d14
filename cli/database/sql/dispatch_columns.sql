-- SPDX-License-Identifier: MIT
-- The columns of the dispatches as they lie in a row; 1: each row has its own number there, or NULL.
SELECT name, type = 'INTEGER' AND dflt_value IS NULL AND NOT pk AND NOT hidden
FROM pragma_table_xinfo('rtl_dispatch', 'main') ORDER BY cid;
