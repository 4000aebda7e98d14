-- SPDX-License-Identifier: MIT
-- Every dispatch that has a time, in the order of the file; submit: ns before its start.
SELECT shape_id, start, duration, submit FROM rtl_dispatch;
