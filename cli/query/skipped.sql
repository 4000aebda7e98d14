-- SPDX-License-Identifier: MIT
-- Dispatches that were left alone, by reason; other packets are not part of the account.
SELECT name, sum(value) FROM rtl_counter
WHERE name GLOB 'skipped_*' AND name <> 'skipped_not_kernel'
GROUP BY name HAVING sum(value) > 0 ORDER BY name;
