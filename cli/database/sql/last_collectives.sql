-- SPDX-License-Identifier: MIT
-- since 3
-- The newest collective that each process called in each communicator; sends and receives count pairs.
SELECT process_id, comm, max(seq), op FROM rtl_collective
WHERE comm IS NOT NULL AND seq IS NOT NULL AND op NOT IN ('ncclSend', 'ncclRecv')
GROUP BY process_id, comm;
