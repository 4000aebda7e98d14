-- SPDX-License-Identifier: MIT
-- Processes that have queues in no count, and what each says of its front end.
SELECT p.front_end, sum(l.count), count(*) FROM rtl_loss l
JOIN rtl_process p ON p.id = l.process_id WHERE l.reason = 'queues_ineligible'
GROUP BY p.front_end ORDER BY 2 DESC, 1;
