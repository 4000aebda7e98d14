-- SPDX-License-Identifier: MIT
-- Dispatches, and what they repeat: kernels, shapes, categories. The whole table is read without joins.

-- query kernels
-- Names of kernels, sorted as rtl_shape.kernel_id.
SELECT id, name, symbol FROM rtl_kernel ORDER BY id;

-- query categories
-- since 8
-- The rules that say what kind of work a kernel is; the first that matches.
SELECT category, collective, pattern FROM rtl_category ORDER BY position;

-- query shapes
-- What dispatches repeat, sorted by id: queue, kernel and size, and how many dispatches the queue has.
SELECT h.id, h.process_id, h.gpuId, h.queueId, h.kernel_id, coalesce(q.stored, 0),
	h.workgroupX, h.workgroupY, h.workgroupZ, h.gridX, h.gridY, h.gridZ
FROM rtl_shape h LEFT JOIN rtl_queue q ON q.process_id = h.process_id AND q.queueId = h.queueId
ORDER BY h.id;

-- query dispatch_ids
-- The first and the last row of the dispatches; there are no gaps worth mentioning.
SELECT (SELECT min(rowid) FROM rtl_dispatch), (SELECT max(rowid) FROM rtl_dispatch);

-- query dispatches
-- Every dispatch, in the order of the file: no join, no sort.
SELECT rtl_fold(shape_id, start, duration, call) FROM rtl_dispatch;

-- query dispatches_in_ranges
-- The same with the innermost range in which it was submitted.
SELECT rtl_fold(shape_id, start, duration, call, marker) FROM rtl_dispatch;

-- query dispatch_shapes
-- What every dispatch repeats, in the order of the file: no join, no sort.
SELECT rtl_fold(shape_id) FROM rtl_dispatch;

-- query dispatch_submits
-- Every dispatch that has a time, in the order of the file; submit: ns before its start.
SELECT shape_id, start, duration, submit FROM rtl_dispatch;

-- query dispatch_sequence
-- Every dispatch with its place in its queue, in the order of the file; submit: ns before its start.
SELECT shape_id, seq, start, duration, submit FROM rtl_dispatch;

-- query lane_rows
-- Every dispatch, in the order of the file, with what places it in time: no join, no sort.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch;

-- query lane_rows_sorted
-- The same by time, for a file whose order is too far from it.
SELECT shape_id, start, duration, submit, call, node FROM rtl_dispatch ORDER BY start;

-- query strings
-- Every text.
SELECT id, string FROM rocpd_string ORDER BY id;
