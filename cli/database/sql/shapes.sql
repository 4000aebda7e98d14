-- SPDX-License-Identifier: MIT
-- What dispatches repeat; sorted, so that an id is found by its place.
SELECT id, process_id, gpuId, kernel_id FROM rtl_shape ORDER BY id;
