-- SPDX-License-Identifier: MIT
-- Every text.
SELECT id, string FROM rocpd_string ORDER BY id;
