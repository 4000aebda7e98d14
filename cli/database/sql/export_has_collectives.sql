-- SPDX-License-Identifier: MIT
-- since 5
SELECT EXISTS (SELECT 1 FROM rtl_collective_base);
