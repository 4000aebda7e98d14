-- SPDX-License-Identifier: MIT
-- since 5
-- Every host call, outer ones first: a call's number is given at its begin.
SELECT process_id, id, parent, tid, api_id, start_ns, end_ns, marker FROM rtl_call_base ORDER BY id;
