-- SPDX-License-Identifier: MIT
-- What is missing, in sum; a loss of unknown size is at least one.
SELECT reason, sum(coalesce(count, 1)) FROM rtl_loss GROUP BY reason ORDER BY reason;
