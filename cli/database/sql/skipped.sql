-- SPDX-License-Identifier: MIT
-- What was left out by choice: dispatches, by reason (other packets are not part of the account),
-- and times, by the user's mode.
SELECT name, sum(value) FROM rtl_counter
WHERE (name GLOB 'skipped_*' OR name = 'untimed_mode') AND name <> 'skipped_not_kernel'
GROUP BY name HAVING sum(value) > 0 ORDER BY name;
