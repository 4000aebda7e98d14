-- SPDX-License-Identifier: MIT
-- Whether the command, or a process of the job, ended in another way than well.
SELECT EXISTS (SELECT 1 FROM rtl_session WHERE exit_status <> 0)
	OR EXISTS (SELECT 1 FROM rtl_process WHERE ended = 'killed' OR exit_status <> 0);
