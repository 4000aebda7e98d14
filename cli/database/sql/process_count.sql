-- SPDX-License-Identifier: MIT
-- How many processes there are.
SELECT count(*) FROM rtl_process;
