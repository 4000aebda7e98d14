-- SPDX-License-Identifier: MIT
-- Dispatches of processes whose host calls were recorded, outside of all of them.
SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = 'unlinked';
