-- SPDX-License-Identifier: MIT
-- What dispatches repeat, with the queue that it is launched into.
SELECT h.id, h.process_id, h.queueId, s.string
FROM rtl_shape h JOIN rocpd_string s ON s.id = h.kernel_id ORDER BY h.id;
