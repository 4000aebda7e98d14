-- SPDX-License-Identifier: MIT
-- Processes that live, or were not read to their end.
SELECT count(*) FROM rtl_process WHERE NOT drained;
