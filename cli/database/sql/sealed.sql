-- SPDX-License-Identifier: MIT
-- What the collector said last of all sessions of the file.
SELECT value FROM rtl_meta WHERE key = 'completeness';
