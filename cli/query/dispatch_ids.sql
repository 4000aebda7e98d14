-- SPDX-License-Identifier: MIT
-- The first and the last row of the dispatches; there are no gaps worth mentioning.
SELECT (SELECT min(id) FROM rtl_dispatch), (SELECT max(id) FROM rtl_dispatch);
