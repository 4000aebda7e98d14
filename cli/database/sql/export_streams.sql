-- SPDX-License-Identifier: MIT
-- since 14
-- What another tool called the queues of an import.
SELECT process_id, queueId, stream FROM rtl_queue WHERE stream IS NOT NULL;
