-- SPDX-License-Identifier: MIT
-- The same by time, for a file whose order is too far from it.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch ORDER BY start;
