-- SPDX-License-Identifier: MIT
-- since 2
-- The numbers that AORTA has for a step, in the order of time: process, which, when, value.
SELECT m.process_id, s.string, m.time_ns, m.value FROM rtl_metric_base m JOIN rocpd_string s ON s.id = m.name_id
WHERE s.string IN ('loss', 'lr', 'grad_norm', 'epoch') ORDER BY m.process_id, m.time_ns, m.marker_id;
