-- SPDX-License-Identifier: MIT
-- Every dispatch, with the call that caused it and its place among those of that call.
SELECT shape_id, call, node FROM rtl_dispatch;
