-- SPDX-License-Identifier: MIT
-- since 4
-- Who copied.
SELECT DISTINCT process_id FROM rtl_copy_base;
