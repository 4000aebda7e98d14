-- SPDX-License-Identifier: MIT
-- The same in the order of their starts, for files that are too far out of order.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch ORDER BY start, submit DESC;
