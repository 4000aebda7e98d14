-- SPDX-License-Identifier: MIT
-- since 5
-- Was it recorded all the time? Not 0: some process was not. Of one that was there is a row, too.
SELECT EXISTS (SELECT 1 FROM rtl_recording WHERE why <> 'start' OR end_why IS NOT NULL)
	OR EXISTS (SELECT 1 FROM rtl_counter WHERE name = 'skipped_filter' AND value > 0);
