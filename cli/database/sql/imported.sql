-- SPDX-License-Identifier: MIT
-- since 14
-- What other tools recorded: kernels, the tool where it is one only, and whether nothing else is here.
SELECT coalesce(sum((SELECT sum(stored) FROM rtl_queue q WHERE q.process_id = p.id)), 0),
	CASE WHEN min(i.source) = max(i.source) THEN min(i.source) END,
	count(*) = (SELECT count(*) FROM rtl_process), count(*)
FROM rtl_process p JOIN rtl_import i ON i.id = p.import_id WHERE i.source IS NOT NULL;
