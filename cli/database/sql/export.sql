-- SPDX-License-Identifier: MIT
-- Rows as the formats of other tools need them.

-- query export_processes
-- Every process, in the order of ranks.
SELECT id, rank, world_size, pid, start_ns,
	(SELECT max(last_end_ns) FROM rtl_queue q WHERE q.process_id = p.id), host, boot_id, exe, command
FROM rtl_process p ORDER BY rank IS NULL, rank, attempt, start_ns, id;

-- query export_dispatch_count
-- How many dispatches are there, whatever the ledger says.
SELECT count(*) FROM rtl_dispatch;

-- query export_dispatches
-- since 5
-- Every dispatch with its shape and the call that caused it, in the order of the file.
SELECT d.rowid, h.process_id, h.gpuId, h.queueId, h.kernel_id, d.start, d.duration, d.seq, d.tid, d.call, d.submit,
	d.marker, d.node, h.workgroupX, h.workgroupY, h.workgroupZ, h.gridX, h.gridY, h.gridZ, h.lds, h.scratch,
	c.start_ns, c.tid, c.api_id, c.graph_exec, c.graph_launch, c.end_ns
FROM rtl_dispatch d LEFT JOIN rtl_shape h ON h.id = d.shape_id
LEFT JOIN rtl_call_base c ON c.id = (h.process_id << 40 | d.call);

-- query export_dispatches_alone
-- The same of files that are older than host calls.
SELECT d.rowid, h.process_id, h.gpuId, h.queueId, h.kernel_id, d.start, d.duration, d.seq, d.tid, NULL, d.submit,
	d.marker, NULL, h.workgroupX, h.workgroupY, h.workgroupZ, h.gridX, h.gridY, h.gridZ, h.lds, h.scratch,
	NULL, NULL, NULL, NULL, NULL, NULL
FROM rtl_dispatch d LEFT JOIN rtl_shape h ON h.id = d.shape_id;

-- query export_outstanding
-- What had not ended, by process and GPU.
SELECT process_id, gpuId, count(*) FROM rtl_outstanding GROUP BY process_id, gpuId;

-- query export_copies
-- since 5
-- Every copy with the call that caused it, of each process nearly in the order of their starts.
SELECT y.process_id, y.number, y.start_ns, y.end_ns, y.bytes, y.direction, y.source_gpuId, y.target_gpuId, y.call,
	y.tid, y.submit_ns, y.marker, y.how, y.engine, c.start_ns, c.tid, c.api_id, c.end_ns
FROM rtl_copy_base y LEFT JOIN rtl_call_base c ON c.id = (y.process_id << 40 | y.call)
ORDER BY y.process_id, y.number;

-- query export_calls
-- since 5
-- Every host call with what it is of a collective, outer ones first: a call's number is given at its begin.
SELECT c.id, c.process_id, c.tid, c.api_id, c.start_ns, c.end_ns, c.result, c.parent, c.marker, c.arguments,
	c.stream, c.graph_exec, c.graph_launch, k.id, k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes,
	k.datatype, k.reduction, k.peer
FROM rtl_call_base c LEFT JOIN rtl_collective_base k ON k.id = c.id ORDER BY c.id;

-- query export_markers
-- Every roctx range and mark with its text, outer ones first: ids are given as ranges begin.
SELECT m.process_id, m.id, m.tid, m.kind, s.string, m.start_ns, m.end_ns, m.parent
FROM rtl_marker_base m LEFT JOIN rocpd_string s ON s.id = m.text_id ORDER BY m.process_id, m.id;

-- query export_ops
-- since 14
-- Every operation of a framework, outer ones first: numbers are given as they begin.
SELECT o.id >> 40, o.tid, o.start_ns, o.end_ns, n.string, o.kind, o.external_id, o.sequence, o.forward_tid, s.string,
	t.string, NULL
FROM rtl_op_base o JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id LEFT JOIN rocpd_string t ON t.id = o.types_id ORDER BY o.id;

-- query export_metrics
-- since 2
-- The numbers that AORTA has for a step, in the order of time: process, which, when, value.
SELECT m.process_id, s.string, m.time_ns, m.value FROM rtl_metric_base m JOIN rocpd_string s ON s.id = m.name_id
WHERE s.string IN ('loss', 'lr', 'grad_norm', 'epoch') ORDER BY m.process_id, m.time_ns, m.marker_id;

-- query export_streams
-- since 14
-- What another tool called the queues of an import.
SELECT process_id, queueId, stream FROM rtl_queue WHERE stream IS NOT NULL;

-- query export_first
-- since 5
-- The first time of anything that is exported.
SELECT min(t) FROM (
	SELECT min(start - max(coalesce(submit, 0), 0)) AS t FROM rtl_dispatch WHERE start IS NOT NULL
	UNION ALL SELECT min(min(submit_ns), min(coalesce(start_ns, submit_ns))) FROM rtl_copy_base
	UNION ALL SELECT min(start_ns) FROM rtl_call_base UNION ALL SELECT min(start_ns) FROM rtl_marker_base);

-- query export_first_op
-- since 14
-- When the first operation of a framework began.
SELECT min(start_ns) FROM rtl_op_base;

-- query export_communication
-- since 8
-- The kernels that move data between ranks.
SELECT id FROM rtl_kernel WHERE category = 'communication';

-- query export_groups
-- since 5
-- The ranks of each communicator, as far as they are in this file.
SELECT k.comm, k.comm_rank, min(p.rank) FROM rtl_collective_base k JOIN rtl_process p ON p.id = k.id >> 40
WHERE k.comm IS NOT NULL AND k.comm_rank IS NOT NULL AND p.rank IS NOT NULL
GROUP BY k.comm, k.comm_rank ORDER BY k.comm, k.comm_rank;

-- query export_has_collectives
-- since 5
SELECT EXISTS (SELECT 1 FROM rtl_collective_base);

-- query export_launched_collectives
-- since 5
-- The collectives that the call ?1 launched, or a call around it, in order.
WITH RECURSIVE up (id, process_id, parent) AS (
	SELECT id, process_id, parent FROM rtl_call_base WHERE id = ?1
	UNION
	SELECT c.id, c.process_id, c.parent
	FROM up JOIN rtl_call_base c ON c.id = (up.process_id << 40 | up.parent) WHERE up.parent IS NOT NULL)
SELECT k.id, c.api_id, k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.reduction, k.peer, 0
FROM up JOIN rtl_collective_base k ON k.launch_id = up.id JOIN rtl_call_base c ON c.id = k.id ORDER BY k.id;

-- query export_launched_collectives_imported
-- since 14
-- The collectives that the call ?1 launched, or a call around it, in order; those that kernels of an import tell of are
-- of the call that launched the kernel, or where that is not known of their own number.
WITH RECURSIVE up (id, parent) AS (
	SELECT ?1, (SELECT parent FROM rtl_call_base WHERE id = ?1)
	UNION
	SELECT c.id, c.parent
	FROM up JOIN rtl_call_base c ON c.id = (?1 >> 40 << 40 | up.parent) WHERE up.parent IS NOT NULL)
SELECT k.id, coalesce(x.op_id, c.api_id), k.comm, k.comm_rank, k.comm_size, k.seq, k.count, k.bytes, k.datatype,
	k.reduction, k.peer, x.id IS NOT NULL
FROM up JOIN rtl_collective_base k ON k.launch_id = up.id LEFT JOIN rtl_call_base c ON c.id = k.id
LEFT JOIN rtl_collective_import x ON x.id = k.id WHERE x.id IS NULL OR up.id = ?1 ORDER BY k.id;

-- query export_imported_functions
-- since 14
-- What the kernels of imports did, where no call has that name.
SELECT s.id, s.string FROM rocpd_string s
WHERE s.id IN (SELECT op_id FROM rtl_collective_import) AND s.id NOT IN (SELECT id FROM rtl_api);

-- query export_ops_with_inputs
-- since 18
-- Every operation of a framework, outer ones first: numbers are given as they begin.
SELECT o.id >> 40, o.tid, o.start_ns, o.end_ns, n.string, o.kind, o.external_id, o.sequence, o.forward_tid, s.string,
	t.string, v.string
FROM rtl_op_base o JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id LEFT JOIN rocpd_string t ON t.id = o.types_id
LEFT JOIN rocpd_string v ON v.id = o.inputs_id ORDER BY o.id;

-- query export_samples
-- since 2
-- Every metric in the order of time: process, which, its name, the mark, when, value.
SELECT m.process_id, m.name_id, s.string, m.marker_id, m.time_ns, m.value
FROM rtl_metric_base m JOIN rocpd_string s ON s.id = m.name_id ORDER BY m.process_id, m.time_ns, m.marker_id;

-- query export_gpus
-- since 14
-- The GPUs that processes saw, and those that an import names by their numbers alone.
SELECT gpuId, kfd_node, kfd_gpu_id, domain, bdf, unique_id, partition, gfx, name FROM rtl_gpu
UNION ALL
SELECT gpuId, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM (
	SELECT gpuId FROM rtl_shape UNION SELECT source_gpuId FROM rtl_copy_base
	UNION SELECT target_gpuId FROM rtl_copy_base)
WHERE gpuId IS NOT NULL AND gpuId NOT IN (SELECT gpuId FROM rtl_gpu) ORDER BY gpuId;
