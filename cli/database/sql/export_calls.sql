-- SPDX-License-Identifier: MIT
-- since 5
-- Every host call, outer ones first: a call's number is given at its begin.
SELECT id, process_id, tid, api_id, start_ns, end_ns, result FROM rtl_call_base ORDER BY id;
