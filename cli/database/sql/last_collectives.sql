-- SPDX-License-Identifier: MIT
-- since 3
-- The newest collective that each process called in each communicator; sends and receives count pairs.
SELECT c.process_id, k.comm, max(k.seq), s.string FROM rtl_collective_base k
JOIN rtl_call_base c ON c.id = k.id JOIN rocpd_string s ON s.id = c.api_id
WHERE k.comm IS NOT NULL AND k.seq IS NOT NULL AND s.string NOT IN ('ncclSend', 'ncclRecv')
GROUP BY c.process_id, k.comm;
