-- SPDX-License-Identifier: MIT
-- Views and tables that users read: all but those that docs/schema.md calls private.
SELECT name FROM sqlite_schema
WHERE type IN ('view', 'table') AND name NOT GLOB '*_base' AND name NOT GLOB 'sqlite_*'
	AND name NOT IN ('rtl_shape', 'rtl_dispatch', 'rtl_queue', 'rtl_untimed_reason', 'rtl_captured')
ORDER BY name
