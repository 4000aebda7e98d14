-- SPDX-License-Identifier: MIT
-- Names of kernels, sorted as rtl_shape.kernel_id.
SELECT id, name, symbol FROM rtl_kernel ORDER BY id;
