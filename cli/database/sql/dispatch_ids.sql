-- SPDX-License-Identifier: MIT
-- The first and the last row of the dispatches; there are no gaps worth mentioning.
SELECT (SELECT min(rowid) FROM rtl_dispatch), (SELECT max(rowid) FROM rtl_dispatch);
