-- SPDX-License-Identifier: MIT
-- When and where each loss happened, and what is in flight.

-- No counter of the process was read after that; and when it ended.
ALTER TABLE rtl_process ADD COLUMN counted_ns INTEGER;
ALTER TABLE rtl_process ADD COLUMN end_ns INTEGER;

-- The parts of rtl_loss: per process, queue (-1: of the whole process) and reason, numbered from 0.
-- All of a part was lost between from_ns and to_ns, and among the dispatches first_seq to last_seq.
CREATE TABLE rtl_loss_interval_base (
	process_id INTEGER NOT NULL,
	queueId INTEGER NOT NULL,
	reason TEXT NOT NULL,
	number INTEGER NOT NULL,
	count INTEGER NOT NULL,
	from_ns INTEGER,
	to_ns INTEGER,
	first_seq INTEGER,
	last_seq INTEGER,
	PRIMARY KEY (process_id, queueId, reason, number)
) WITHOUT ROWID;

CREATE VIEW rtl_loss_interval AS
SELECT l.process_id, p.rank, q.gpuId, nullif(l.queueId, -1) AS queueId, l.reason,
	CASE WHEN l.reason <> 'unknown_tail' THEN l.count END AS count, l.from_ns, l.to_ns,
	l.first_seq, l.last_seq
FROM rtl_loss_interval_base l JOIN rtl_process p ON p.id = l.process_id
LEFT JOIN rtl_queue q ON q.process_id = l.process_id AND q.queueId = l.queueId;

-- What was lost before: by queue where a counter says so, else of the whole process.
INSERT INTO rtl_loss_interval_base
SELECT c.process_id, c.queueId, c.name, 0, c.value, l.from_ns, l.to_ns, NULL, NULL
FROM rtl_counter_base c JOIN rtl_loss l ON l.process_id = c.process_id AND l.reason = c.name
WHERE c.value > 0 AND c.name NOT GLOB 'untimed_*';
INSERT INTO rtl_loss_interval_base
SELECT process_id, -1, reason, 0, coalesce(count, 1), from_ns, to_ns, NULL, NULL FROM rtl_loss l
WHERE NOT EXISTS (SELECT 1 FROM rtl_loss_interval_base i
	WHERE i.process_id = l.process_id AND i.reason = l.reason);

-- Which dispatch of a queue ended at last_end_ns.
ALTER TABLE rtl_queue ADD COLUMN last_shape INTEGER;
ALTER TABLE rtl_queue ADD COLUMN last_seq INTEGER;
-- The host call that caused it, as rocpd_op.correlation_id.
ALTER TABLE rtl_outstanding ADD COLUMN correlation_id INTEGER;

-- What a process had in flight at taken_ns: the oldest dispatches of each queue that does not get on,
-- or of all queues if a client asked. behind: those after it in its queue. None when the process
-- was read to its end: then rtl_outstanding has the truth.
CREATE TABLE rtl_in_flight (
	process_id INTEGER NOT NULL,
	queueId INTEGER NOT NULL,
	sequenceId INTEGER NOT NULL,
	gpuId INTEGER,
	description_id INTEGER,
	submit_ns INTEGER,
	tid INTEGER,
	roctxId INTEGER,
	correlation_id INTEGER,
	behind INTEGER NOT NULL,
	taken_ns INTEGER NOT NULL,
	PRIMARY KEY (process_id, queueId, sequenceId)
) WITHOUT ROWID;
