-- SPDX-License-Identifier: MIT
-- What each node's wall clock adds to its time since boot, of its last anchor.
SELECT p.boot_id, c.realtime_ns - c.boottime_ns, max(c.boottime_ns)
FROM rtl_clock c JOIN rtl_process p ON p.id = c.process_id GROUP BY p.boot_id;
