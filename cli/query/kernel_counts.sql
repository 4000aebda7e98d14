-- SPDX-License-Identifier: MIT
-- How many of each kernel each process has stored.
SELECT h.process_id, h.kernel_id, sum(d.n)
FROM (SELECT shape_id, count(*) AS n FROM rtl_dispatch GROUP BY shape_id) d
	JOIN rtl_shape h ON h.id = d.shape_id
GROUP BY h.process_id, h.kernel_id;
