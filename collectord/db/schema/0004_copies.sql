-- SPDX-License-Identifier: MIT
-- Asynchronous copies that went through the HSA runtime. start_ns, end_ns: on the GPU, only
-- where they were asked for (mode full). A copy by a kernel is a dispatch.
CREATE TABLE rtl_copy_base (
	process_id INTEGER NOT NULL,
	number INTEGER NOT NULL,	-- in the process, from 1
	tid INTEGER NOT NULL,
	submit_ns INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	how TEXT NOT NULL,		-- async | on_engine | rect | batch
	direction TEXT NOT NULL,	-- h2d | d2h | d2d | p2p | h2h | unknown
	source_gpuId INTEGER,		-- NULL: the host, or unknown
	target_gpuId INTEGER,
	engine INTEGER,			-- mask as asked for
	call INTEGER,			-- host call around it
	marker INTEGER,
	start_ns INTEGER,
	end_ns INTEGER,
	PRIMARY KEY (process_id, number)
) WITHOUT ROWID;

CREATE VIEW rtl_copy AS
SELECT c.process_id, p.rank, c.number AS copyId, c.submit_ns, c.start_ns, c.end_ns, c.bytes,
	c.direction, c.source_gpuId, c.target_gpuId, c.how, c.engine, c.tid, c.marker AS roctxId,
	c.call AS correlation_id
FROM rtl_copy_base c JOIN rtl_process p ON p.id = c.process_id;
