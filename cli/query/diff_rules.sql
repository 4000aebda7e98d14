-- SPDX-License-Identifier: MIT
-- since 8
-- The rules of categories, one text each, in their order.
SELECT category || ' ' || coalesce(collective, '') || ' ' || pattern FROM rtl_category
ORDER BY position;
