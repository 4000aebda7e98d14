-- SPDX-License-Identifier: MIT
-- One flat row a dispatch, for data frames. Categories are looked up once a kernel, not once a
-- dispatch: a subquery with a LIMIT is not merged into the query around it.
CREATE VIEW kernel AS
SELECT p.rank, h.gpuId, h.queueId AS queue, k.name, k.category, d.start AS start_ns,
	d.start + d.duration AS end_ns, d.duration AS duration_ns,
	strftime('%Y-%m-%dT%H:%M:%S', (d.start + c.offset_ns) / 1000000000, 'unixepoch') ||
		printf('.%09dZ', (d.start + c.offset_ns) % 1000000000) AS start_utc,
	CASE WHEN d.start IS NULL THEN d.submit ELSE d.start - d.submit END AS submit_ns,
	t.string AS marker, h.process_id
FROM rtl_dispatch d JOIN rtl_shape h ON h.id = d.shape_id JOIN rtl_process p ON p.id = h.process_id
LEFT JOIN (SELECT id, name, category FROM rtl_kernel LIMIT -1) k ON k.id = h.kernel_id
LEFT JOIN rtl_marker_base m ON m.process_id = h.process_id AND m.id = d.marker
LEFT JOIN rocpd_string t ON t.id = m.text_id
-- NULL: the origin of the times is unknown.
LEFT JOIN (SELECT s.id, CASE coalesce(x.clock, 'boottime') WHEN 'boottime'
		THEN s.start_realtime_ns - s.start_ns WHEN 'realtime' THEN 0 END AS offset_ns
	FROM rtl_session s LEFT JOIN rtl_session_clock x ON x.session_id = s.id) c ON c.id = p.session_id;
