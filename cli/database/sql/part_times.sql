-- SPDX-License-Identifier: MIT
-- do
-- And the markers from ?1 to ?2 alone.
UPDATE rtl_part SET from_ns = ?1, to_ns = ?2;
CREATE TEMP VIEW rtl_marker AS SELECT m.* FROM rtl_part p
	CROSS JOIN main.rtl_marker m ON m.start_ns <= p.to_ns AND coalesce(m.end_ns, p.to_ns) >= p.from_ns;
