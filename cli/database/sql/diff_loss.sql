-- SPDX-License-Identifier: MIT
-- since 2
-- The mean of what a training loop says of its loss.
SELECT avg(value) FROM rtl_metric WHERE lower(name) = 'loss';
