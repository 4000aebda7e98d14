-- SPDX-License-Identifier: MIT
-- Every dispatch, in the order of the file: no join, no sort.
SELECT shape_id, start, duration FROM rtl_dispatch;
