-- SPDX-License-Identifier: MIT
-- Does this connection look at a part of the dispatches (part_begin)?
SELECT count(*) FROM temp.sqlite_schema WHERE name = 'rtl_dispatch';
