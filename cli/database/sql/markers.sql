-- SPDX-License-Identifier: MIT
-- How many ranges and marks there are, and how many were still open.
SELECT count(*), count(*) FILTER (WHERE end_ns IS NULL AND kind <> 'mark') FROM rtl_marker_base;
