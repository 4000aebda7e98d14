-- SPDX-License-Identifier: MIT
-- do
-- since 5
-- The calls ?1 to ?2 that tell what the host waited for, and what moves data between ranks.
INSERT INTO temp.rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result)
SELECT id, process_id, parent, tid, api_id, start_ns, end_ns, result FROM main.rtl_call_base
WHERE id BETWEEN ?1 AND ?2 AND (parent IS NOT NULL OR api_id IN (
	SELECT a.id FROM rtl_api a JOIN rocpd_string n ON n.id = a.id WHERE n.string GLOB 'nccl*'
		OR n.string GLOB 'hip*Synchronize*' OR n.string GLOB 'hip*Free*' OR n.string GLOB 'hipMemcpy*'));
INSERT INTO temp.rtl_collective_base (id, launch_id, comm, comm_rank, comm_size, seq, bytes, datatype, peer)
SELECT id, launch_id, comm, comm_rank, comm_size, seq, bytes, datatype, peer FROM main.rtl_collective_base
WHERE id BETWEEN ?1 AND ?2;
