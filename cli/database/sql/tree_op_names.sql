-- SPDX-License-Identifier: MIT
-- since 14
-- What operations are called: their names, with the shapes of their inputs.
SELECT o.name_id, o.shapes_id, n.string, s.string
FROM (SELECT DISTINCT name_id, shapes_id FROM rtl_op_base) o JOIN rocpd_string n ON n.id = o.name_id
LEFT JOIN rocpd_string s ON s.id = o.shapes_id ORDER BY o.name_id, o.shapes_id;
