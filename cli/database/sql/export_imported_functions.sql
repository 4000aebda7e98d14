-- SPDX-License-Identifier: MIT
-- since 14
-- What the kernels of imports did, where no call has that name.
SELECT s.id, s.string FROM rocpd_string s
WHERE s.id IN (SELECT op_id FROM rtl_collective_import) AND s.id NOT IN (SELECT id FROM rtl_api);
