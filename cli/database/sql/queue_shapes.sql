-- SPDX-License-Identifier: MIT
-- What dispatches repeat, by id, and how many dispatches its queue has.
SELECT h.id, h.process_id, h.gpuId, h.queueId, h.kernel_id, coalesce(q.stored, 0)
FROM rtl_shape h LEFT JOIN rtl_queue q ON q.process_id = h.process_id AND q.queueId = h.queueId
ORDER BY h.id;
