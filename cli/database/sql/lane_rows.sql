-- SPDX-License-Identifier: MIT
-- Every dispatch, in the order of the file, with what places it in time: no join, no sort.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch;
