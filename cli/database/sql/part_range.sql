-- SPDX-License-Identifier: MIT
-- do
-- The first and the last row of the part.
SELECT first_id, last_id FROM temp.rtl_part;
