-- SPDX-License-Identifier: MIT
-- The account of each process on each GPU.
SELECT process_id, gpuId, sum(dispatched), sum(skipped), sum(stored), sum(untimed),
	sum(outstanding), sum(dropped), sum(torn), sum(pending)
FROM rtl_account GROUP BY process_id, gpuId ORDER BY process_id, gpuId;
