-- SPDX-License-Identifier: MIT
-- Every dispatch, in the order of the file. submit: ns before start, or the time where start is NULL.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch;
