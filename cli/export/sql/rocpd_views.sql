-- SPDX-License-Identifier: MIT
-- What rocpd's own views are called and have, over the tables of all processes.
CREATE VIEW processes AS SELECT n.id AS nid, n.machine_id, n.system_name, n.hostname, n.release AS system_release,
	n.version AS system_version, p.guid, p.ppid, p.pid, p.init, p.start, p."end", p.fini, p.command
FROM rocpd_info_process p JOIN rocpd_info_node n ON n.id = p.nid AND n.guid = p.guid;
CREATE VIEW threads AS SELECT n.id AS nid, n.machine_id, n.system_name, n.hostname, n.release AS system_release,
	n.version AS system_version, p.guid, p.ppid, p.pid, t.tid, t.start, t."end", t.name
FROM rocpd_info_thread t JOIN rocpd_info_process p ON p.id = t.pid AND p.guid = t.guid
JOIN rocpd_info_node n ON n.id = t.nid AND n.guid = t.guid;
CREATE VIEW kernel_symbols AS SELECT k.id, k.guid, k.nid, p.pid, k.code_object_id, k.kernel_name, k.display_name,
	k.kernel_object, k.kernarg_segment_size, k.kernarg_segment_alignment, k.group_segment_size,
	k.private_segment_size, k.sgpr_count, k.arch_vgpr_count, k.accum_vgpr_count
FROM rocpd_info_kernel_symbol k JOIN rocpd_info_process p ON p.id = k.pid AND p.guid = k.guid;
CREATE VIEW regions AS SELECT r.id, r.guid, c.string AS category, s.string AS name, r.nid, p.pid, t.tid, r.start,
	r."end", r."end" - r.start AS duration, r.event_id, e.stack_id, e.parent_stack_id, e.correlation_id AS corr_id,
	e.extdata, e.call_stack, e.line_info
FROM rocpd_region r JOIN rocpd_event e ON e.id = r.event_id AND e.guid = r.guid
JOIN rocpd_string s ON s.id = r.name_id AND s.guid = r.guid
LEFT JOIN rocpd_string c ON c.id = e.category_id AND c.guid = e.guid
JOIN rocpd_info_process p ON p.id = r.pid AND p.guid = r.guid
JOIN rocpd_info_thread t ON t.id = r.tid AND t.guid = r.guid;
CREATE VIEW region_args AS SELECT r.id, r.guid, r.nid, p.pid, a.type, a.name, a.value
FROM rocpd_region r JOIN rocpd_arg a ON a.event_id = r.event_id AND a.guid = r.guid
JOIN rocpd_info_process p ON p.id = r.pid AND p.guid = r.guid;
CREATE VIEW samples AS SELECT r.id, r.guid, c.string AS category, s.string AS name, t.nid, p.pid, h.tid, r.timestamp,
	r.event_id, e.stack_id, e.parent_stack_id, e.correlation_id AS corr_id, e.extdata, e.call_stack, e.line_info
FROM rocpd_sample r JOIN rocpd_track t ON t.id = r.track_id AND t.guid = r.guid
JOIN rocpd_event e ON e.id = r.event_id AND e.guid = r.guid
LEFT JOIN rocpd_string c ON c.id = e.category_id AND c.guid = e.guid
LEFT JOIN rocpd_string s ON s.id = t.name_id AND s.guid = t.guid
JOIN rocpd_info_process p ON p.id = t.pid AND p.guid = t.guid
JOIN rocpd_info_thread h ON h.id = t.tid AND h.guid = t.guid;
CREATE VIEW sample_regions AS SELECT id, guid, category, name, nid, pid, tid, timestamp AS start, timestamp AS "end",
	0 AS duration, event_id, stack_id, parent_stack_id, corr_id, extdata, call_stack, line_info FROM samples;
CREATE VIEW regions_and_samples AS SELECT * FROM regions UNION ALL SELECT * FROM sample_regions;
CREATE VIEW kernels AS SELECT k.id, k.guid, t.tid, c.string AS category, r.string AS region, s.display_name AS name,
	k.nid, p.pid, a.absolute_index AS agent_abs_index, a.logical_index AS agent_log_index,
	a.type_index AS agent_type_index, a.type AS agent_type, s.code_object_id, k.kernel_id, k.dispatch_id, k.stream_id,
	k.queue_id, q.name AS queue, m.name AS stream, k.start, k."end", k."end" - k.start AS duration,
	k.grid_size_x AS grid_x, k.grid_size_y AS grid_y, k.grid_size_z AS grid_z, k.workgroup_size_x AS workgroup_x,
	k.workgroup_size_y AS workgroup_y, k.workgroup_size_z AS workgroup_z, k.group_segment_size AS lds_size,
	k.private_segment_size AS scratch_size, s.arch_vgpr_count AS vgpr_count, s.accum_vgpr_count, s.sgpr_count,
	s.group_segment_size AS static_lds_size, s.private_segment_size AS static_scratch_size, e.stack_id,
	e.parent_stack_id, e.correlation_id AS corr_id
FROM rocpd_kernel_dispatch k JOIN rocpd_info_agent a ON a.id = k.agent_id AND a.guid = k.guid
JOIN rocpd_event e ON e.id = k.event_id AND e.guid = k.guid
LEFT JOIN rocpd_string c ON c.id = e.category_id AND c.guid = e.guid
JOIN rocpd_string r ON r.id = k.region_name_id AND r.guid = k.guid
JOIN rocpd_info_kernel_symbol s ON s.id = k.kernel_id AND s.guid = k.guid
LEFT JOIN rocpd_info_stream m ON m.id = k.stream_id AND m.guid = k.guid
JOIN rocpd_info_queue q ON q.id = k.queue_id AND q.guid = k.guid
JOIN rocpd_info_process p ON p.id = k.pid AND p.guid = k.guid
JOIN rocpd_info_thread t ON t.id = k.tid AND t.guid = k.guid;
CREATE VIEW memory_copies AS SELECT m.id, m.guid, c.string AS category, m.nid, p.pid, t.tid, m.start, m."end",
	m."end" - m.start AS duration, s.string AS name, r.string AS region_name, m.stream_id, m.queue_id,
	st.name AS stream_name, q.name AS queue_name, m.size, d.name AS dst_device,
	d.absolute_index AS dst_agent_abs_index, d.logical_index AS dst_agent_log_index,
	d.type_index AS dst_agent_type_index, d.type AS dst_agent_type, m.dst_address, f.name AS src_device,
	f.absolute_index AS src_agent_abs_index, f.logical_index AS src_agent_log_index,
	f.type_index AS src_agent_type_index, f.type AS src_agent_type, m.src_address, e.stack_id, e.parent_stack_id,
	e.correlation_id AS corr_id
FROM rocpd_memory_copy m JOIN rocpd_string s ON s.id = m.name_id AND s.guid = m.guid
LEFT JOIN rocpd_string r ON r.id = m.region_name_id AND r.guid = m.guid
JOIN rocpd_info_agent d ON d.id = m.dst_agent_id AND d.guid = m.guid
JOIN rocpd_info_agent f ON f.id = m.src_agent_id AND f.guid = m.guid
LEFT JOIN rocpd_info_queue q ON q.id = m.queue_id AND q.guid = m.guid
LEFT JOIN rocpd_info_stream st ON st.id = m.stream_id AND st.guid = m.guid
JOIN rocpd_event e ON e.id = m.event_id AND e.guid = m.guid
LEFT JOIN rocpd_string c ON c.id = e.category_id AND c.guid = e.guid
JOIN rocpd_info_process p ON p.id = m.pid AND p.guid = m.guid
JOIN rocpd_info_thread t ON t.id = m.tid AND t.guid = m.guid;
CREATE VIEW top_kernels AS SELECT s.display_name AS name, count(*) AS total_calls,
	sum(k."end" - k.start) / 1000.0 AS total_duration, sum(k."end" - k.start) / count(*) / 1000.0 AS average,
	sum(k."end" - k.start) * 100.0 / (SELECT sum("end" - start) FROM rocpd_kernel_dispatch) AS percentage
FROM rocpd_kernel_dispatch k JOIN rocpd_info_kernel_symbol s ON s.id = k.kernel_id AND s.guid = k.guid
GROUP BY name ORDER BY total_duration DESC;
