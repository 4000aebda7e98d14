-- SPDX-License-Identifier: MIT
-- since 4
-- Between which GPUs each process copied, how often, and how many of these copies have times.
SELECT process_id, source_gpuId, target_gpuId, count(*), count(start_ns) FROM rtl_copy_base
GROUP BY process_id, source_gpuId, target_gpuId;
