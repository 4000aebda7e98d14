-- SPDX-License-Identifier: MIT
-- 1: the figures are of a software GPU.
SELECT EXISTS (SELECT 1 FROM rtl_gpu WHERE name GLOB '*SIMULATED*')
	OR EXISTS (SELECT 1 FROM rtl_meta WHERE key = 'simulated' AND CAST(value AS INTEGER));
