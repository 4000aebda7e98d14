-- SPDX-License-Identifier: MIT
-- Every dispatch, in the order of the file. submit: ns before start.
SELECT shape_id, seq, start, duration, submit, call, tid FROM rtl_dispatch;
