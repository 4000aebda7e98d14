-- SPDX-License-Identifier: MIT
-- since 5
-- Calls within calls, the outer ones first: a call's number is given at its begin.
SELECT id, process_id, parent FROM rtl_call_base WHERE parent IS NOT NULL ORDER BY id;
