-- SPDX-License-Identifier: MIT
-- since 5
-- The ranks of each communicator, as far as they are in this file.
SELECT k.comm, k.comm_rank, min(p.rank) FROM rtl_collective_base k JOIN rtl_process p ON p.id = k.id >> 40
WHERE k.comm IS NOT NULL AND k.comm_rank IS NOT NULL AND p.rank IS NOT NULL
GROUP BY k.comm, k.comm_rank ORDER BY k.comm, k.comm_rank;
