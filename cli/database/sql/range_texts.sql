-- SPDX-License-Identifier: MIT
-- What ranges are called.
SELECT id, string FROM rocpd_string WHERE id IN (SELECT text_id FROM rtl_marker_base WHERE kind <> 'mark');
