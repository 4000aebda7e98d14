-- SPDX-License-Identifier: MIT
-- Every dispatch with its place in its queue, in the order of the file; submit: ns before its start.
SELECT shape_id, seq, start, duration, submit FROM rtl_dispatch;
