-- SPDX-License-Identifier: MIT
-- since 8
-- The rules that say what kind of work a kernel is; the first that matches.
SELECT category, collective, pattern FROM rtl_category ORDER BY position;
