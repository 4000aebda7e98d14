-- SPDX-License-Identifier: MIT
-- Every dispatch with what it hangs on, in the order of the file: no join, no sort.
SELECT shape_id, start, duration, submit, tid, marker, call FROM rtl_dispatch;
