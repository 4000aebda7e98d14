-- SPDX-License-Identifier: MIT
-- since 5
-- The functions that occur.
SELECT a.id, s.string FROM rtl_api a JOIN rocpd_string s ON s.id = a.id;
