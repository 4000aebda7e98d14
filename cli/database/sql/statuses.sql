-- SPDX-License-Identifier: MIT
-- How processes ended: each status once, 128 and the signal's number where one ended it.
SELECT DISTINCT exit_status FROM rtl_process WHERE exit_status IS NOT NULL ORDER BY 1;
