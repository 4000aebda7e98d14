-- SPDX-License-Identifier: MIT
-- What every dispatch repeats, in the order of the file: no join, no sort.
SELECT rtl_fold(shape_id) FROM rtl_dispatch;
