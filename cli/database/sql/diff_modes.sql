-- SPDX-License-Identifier: MIT
-- The modes of the processes that dispatched something.
SELECT DISTINCT p.mode FROM rtl_process p
WHERE EXISTS (SELECT 1 FROM rtl_queue q WHERE q.process_id = p.id AND q.dispatched > 0)
ORDER BY p.mode;
