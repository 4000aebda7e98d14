-- SPDX-License-Identifier: MIT
-- since 12
-- Processes of replicas, which have no rank of the job: the replica, from 1 on, and the rank in it.
SELECT p.id, dense_rank() OVER (ORDER BY g.first_id), p.group_rank
FROM rtl_process p JOIN (
	SELECT "group" AS id, min(id) AS first_id FROM rtl_process
	WHERE rank IS NULL AND group_rank IS NOT NULL AND "group" IS NOT NULL GROUP BY "group") g
	ON g.id = p."group"
WHERE p.rank IS NULL AND p.group_rank IS NOT NULL ORDER BY p.id;
