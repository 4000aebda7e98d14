-- SPDX-License-Identifier: MIT
-- since 8
-- The kernels that move data between ranks.
SELECT id FROM rtl_kernel WHERE category = 'communication';
