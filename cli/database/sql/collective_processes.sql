-- SPDX-License-Identifier: MIT
-- since 5
-- Processes that called operations between ranks.
SELECT DISTINCT c.process_id FROM rtl_collective_base k JOIN rtl_call_base c ON c.id = k.id;
