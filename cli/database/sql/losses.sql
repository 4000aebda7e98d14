-- SPDX-License-Identifier: MIT
-- What is missing, and why.
SELECT l.process_id, p.rank, p.pid, l.reason, l.count, l.from_ns, l.to_ns
FROM rtl_loss l LEFT JOIN rtl_process p ON p.id = l.process_id
ORDER BY l.reason, p.rank IS NULL, p.rank, l.process_id;
