-- SPDX-License-Identifier: MIT
-- since 14
-- When the first operation of a framework began.
SELECT min(start_ns) FROM rtl_op_base;
