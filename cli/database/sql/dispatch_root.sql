-- SPDX-License-Identifier: MIT
-- The page where the dispatches begin.
SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = 'rtl_dispatch';
