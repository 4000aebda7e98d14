-- SPDX-License-Identifier: MIT
-- How the dispatches of those processes were seen.
SELECT DISTINCT p.front_end FROM rtl_process p
WHERE EXISTS (SELECT 1 FROM rtl_queue q WHERE q.process_id = p.id AND q.dispatched > 0)
ORDER BY p.front_end;
