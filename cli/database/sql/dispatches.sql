-- SPDX-License-Identifier: MIT
-- Every dispatch, in the order of the file: no join, no sort.
SELECT rtl_fold(shape_id, start, duration, call) FROM rtl_dispatch;
