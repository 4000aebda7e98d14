-- SPDX-License-Identifier: MIT
-- since 5
-- Was it recorded all the time? Not 0: some process was not.
SELECT EXISTS (SELECT 1 FROM rtl_recording)
	OR EXISTS (SELECT 1 FROM rtl_counter WHERE name = 'skipped_filter' AND value > 0);
