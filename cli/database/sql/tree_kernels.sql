-- SPDX-License-Identifier: MIT
-- Kernels, and the first one of the same name: symbols may differ where names do not.
SELECT k.id, min(k.id) OVER (PARTITION BY s.string)
FROM rtl_kernel_base k JOIN rocpd_string s ON s.id = k.id ORDER BY k.id;
