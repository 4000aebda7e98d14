-- SPDX-License-Identifier: MIT
-- Every process by id; whether its host calls were recorded.
SELECT id, rank, coalesce(mode = 'hip', 0) FROM rtl_process ORDER BY id;
