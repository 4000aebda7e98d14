-- SPDX-License-Identifier: MIT
-- What rtl diff compares before it compares times.

-- query diff_modes
-- The modes of the processes that dispatched something.
SELECT DISTINCT p.mode FROM rtl_process p
WHERE EXISTS (SELECT 1 FROM rtl_queue q WHERE q.process_id = p.id AND q.dispatched > 0)
ORDER BY p.mode;

-- query diff_front_ends
-- How the dispatches of those processes were seen.
SELECT DISTINCT p.front_end FROM rtl_process p
WHERE EXISTS (SELECT 1 FROM rtl_queue q WHERE q.process_id = p.id AND q.dispatched > 0)
ORDER BY p.front_end;

-- query diff_gpus
-- What kinds of GPUs were used.
SELECT DISTINCT g.gfx FROM rtl_gpu g
WHERE g.gpuId IN (SELECT gpuId FROM rtl_queue WHERE dispatched > 0)
ORDER BY g.gfx;

-- query diff_recordings
-- since 5
-- Was it recorded all the time? Not 0: some process was not. Of one that was there is a row, too.
SELECT EXISTS (SELECT 1 FROM rtl_recording WHERE why <> 'start' OR end_why IS NOT NULL)
	OR EXISTS (SELECT 1 FROM rtl_counter WHERE name = 'skipped_filter' AND value > 0);

-- query diff_loss
-- since 2
-- The mean of what a training loop says of its loss.
SELECT avg(value) FROM rtl_metric WHERE lower(name) = 'loss';
