-- SPDX-License-Identifier: MIT
-- Processes by rank.
SELECT id, rank, pid FROM rtl_process ORDER BY rank IS NULL, rank, id;
