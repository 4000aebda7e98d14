-- SPDX-License-Identifier: MIT
-- Every dispatch with its place in its queue, in the order of the file.
SELECT shape_id, seq, start, duration FROM rtl_dispatch;
