-- SPDX-License-Identifier: MIT
-- since 7
-- What programs call their threads, devices and streams.
SELECT process_id, rank, kind, subject, name FROM rtl_name
ORDER BY rank IS NULL, rank, process_id, kind, subject;
