-- SPDX-License-Identifier: MIT
-- since 5
-- HIP's and RCCL's functions, each call, in the order of its number.
SELECT id, api_id, start_ns, end_ns, result FROM rtl_call_base ORDER BY id;
