-- SPDX-License-Identifier: MIT
-- since 5
-- The first time of anything that is exported.
SELECT min(t) FROM (
	SELECT min(start - max(coalesce(submit, 0), 0)) AS t FROM rtl_dispatch WHERE start IS NOT NULL
	UNION ALL SELECT min(min(submit_ns), min(coalesce(start_ns, submit_ns))) FROM rtl_copy_base
	UNION ALL SELECT min(start_ns) FROM rtl_call_base UNION ALL SELECT min(start_ns) FROM rtl_marker_base);
