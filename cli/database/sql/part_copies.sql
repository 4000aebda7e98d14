-- SPDX-License-Identifier: MIT
-- do
-- since 4
-- And the copies of that time.
CREATE TEMP VIEW rtl_copy_base AS SELECT c.* FROM rtl_part p
	CROSS JOIN main.rtl_copy_base c ON c.submit_ns <= p.to_ns AND coalesce(c.end_ns, c.submit_ns) >= p.from_ns;
