-- SPDX-License-Identifier: MIT
-- since 14
-- The calls that an operation made, and which one.
SELECT id, op FROM rtl_call_import WHERE op IS NOT NULL ORDER BY id;
