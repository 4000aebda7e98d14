-- SPDX-License-Identifier: MIT
-- since 4
-- Processes that made copies.
SELECT DISTINCT process_id FROM rtl_copy_base;
