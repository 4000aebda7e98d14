-- SPDX-License-Identifier: MIT
-- What a process says of its rank, and what the collector makes of what all of them say
-- (docs/launchers.md). rank and world_size are of the job; "group" and group_rank of the process's
-- largest RCCL communicator, else of the engine that started it.
ALTER TABLE rtl_process ADD COLUMN job_id TEXT GENERATED ALWAYS AS (job) VIRTUAL;
ALTER TABLE rtl_process ADD COLUMN "group" INTEGER;
ALTER TABLE rtl_process ADD COLUMN group_rank INTEGER;

-- Private: as said, and where it comes from ("PID.START,...", nearest first).
ALTER TABLE rtl_process ADD COLUMN told_rank INTEGER;
ALTER TABLE rtl_process ADD COLUMN told_world_size INTEGER;
ALTER TABLE rtl_process ADD COLUMN comm INTEGER;
ALTER TABLE rtl_process ADD COLUMN comm_rank INTEGER;
ALTER TABLE rtl_process ADD COLUMN comm_size INTEGER;
ALTER TABLE rtl_process ADD COLUMN ancestors TEXT;
UPDATE rtl_process SET told_rank = rank, told_world_size = world_size;
