-- SPDX-License-Identifier: MIT
-- Diagnostic counters of each process, its queues summed.
SELECT process_id, name, sum(value) FROM rtl_counter
GROUP BY process_id, name ORDER BY process_id, name;
