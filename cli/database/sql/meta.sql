-- SPDX-License-Identifier: MIT
-- What the file says of itself.
SELECT key, value FROM rtl_meta ORDER BY key;
