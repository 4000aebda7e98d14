-- SPDX-License-Identifier: MIT
-- Processes by id: rank, pid, and how they ended.
SELECT id, rank, pid, boot_id, ended, exit_status FROM rtl_process ORDER BY id;
