-- SPDX-License-Identifier: MIT
-- The same with the innermost range in which it was submitted.
SELECT rtl_fold(shape_id, start, duration, call, marker) FROM rtl_dispatch;
