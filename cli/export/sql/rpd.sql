-- SPDX-License-Identifier: MIT
-- The tables and views of rocmProfileData, schema 3, as its tools name and read them.
CREATE TABLE rocpd_metadata (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE rocpd_string (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, string TEXT NOT NULL);
CREATE TABLE rocpd_ustring (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, string TEXT NOT NULL);
CREATE TABLE rocpd_api (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, tid INTEGER NOT NULL,
	start INTEGER NOT NULL, "end" INTEGER NOT NULL, apiName_id INTEGER NOT NULL REFERENCES rocpd_string (id),
	category_id INTEGER NOT NULL REFERENCES rocpd_string (id), domain_id INTEGER NOT NULL REFERENCES rocpd_string (id),
	args_id INTEGER NOT NULL REFERENCES rocpd_ustring (id));
CREATE TABLE rocpd_op (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, gpuId INTEGER NOT NULL, queueId INTEGER NOT NULL,
	sequenceId INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
	description_id INTEGER NOT NULL REFERENCES rocpd_string (id), opType_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_api_ops (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	api_id INTEGER NOT NULL REFERENCES rocpd_api (id), op_id INTEGER NOT NULL REFERENCES rocpd_op (id));
CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER NOT NULL PRIMARY KEY REFERENCES rocpd_api (id), stream TEXT NOT NULL,
	gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, workgroupX INTEGER NOT NULL,
	workgroupY INTEGER NOT NULL, workgroupZ INTEGER NOT NULL, groupSegmentSize INTEGER NOT NULL,
	privateSegmentSize INTEGER NOT NULL, kernelName_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER NOT NULL PRIMARY KEY REFERENCES rocpd_api (id), stream TEXT NOT NULL,
	size INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, kind INTEGER NOT NULL, dst TEXT NOT NULL,
	src TEXT NOT NULL, dstDevice INTEGER NOT NULL, srcDevice INTEGER NOT NULL, sync INTEGER NOT NULL,
	pinned INTEGER NOT NULL);
CREATE TABLE rocpd_monitor (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, deviceType TEXT NOT NULL,
	deviceId INTEGER NOT NULL, monitorType TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
	value TEXT NOT NULL);
CREATE TABLE rocpd_counter (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, value REAL NOT NULL,
	op_id INTEGER NOT NULL REFERENCES rocpd_op (id), name_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_stackframe (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	api_ptr_id INTEGER NOT NULL REFERENCES rocpd_api (id), depth INTEGER NOT NULL,
	name_id INTEGER NOT NULL REFERENCES rocpd_string (id));

INSERT INTO rocpd_metadata (tag, value) VALUES ('gpu_stride', '1000'), ('pid_stride', '10000000'),
	('schema_version', '3');

CREATE VIEW api AS SELECT a.id, pid, tid, start, "end", d.string AS domain, c.string AS category, n.string AS apiName,
	u.string AS args
FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id JOIN rocpd_string c ON c.id = a.category_id
JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_ustring u ON u.id = a.args_id;
CREATE VIEW op AS SELECT o.id, gpuId, queueId, sequenceId, start, "end", d.string AS description, t.string AS opType
FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id;
-- Sums, as RPD has them: kernels at the same time count twice.
CREATE VIEW busy AS SELECT gpuId, sum("end" - start) AS GpuTime, w.WallTime,
	sum("end" - start) * 1.0 / w.WallTime AS Busy
FROM rocpd_op, (SELECT max("end") - min(start) AS WallTime FROM rocpd_op) w GROUP BY gpuId;
CREATE VIEW top AS SELECT s.string AS Name, count(*) AS TotalCalls, sum(o."end" - o.start) / 1000 AS TotalDuration_us,
	(sum(o."end" - o.start) / count(*)) / 1000.0 AS Ave_us,
	sum(o."end" - o.start) * 100.0 / (SELECT sum("end" - start) FROM rocpd_op) AS Percentage
FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id
JOIN rocpd_string s ON s.id = CASE WHEN d.string = '' THEN o.opType_id ELSE o.description_id END
GROUP BY s.string ORDER BY TotalDuration_us DESC;
CREATE VIEW kernel AS SELECT o.id, gpuId, queueId, sequenceId, start, "end", "end" - start AS duration, stream, gridX,
	gridY, gridZ, workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, s.string AS kernelName
FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_kernelapi k ON k.api_ptr_id = l.api_id
JOIN rocpd_string s ON s.id = k.kernelName_id JOIN rocpd_string t ON t.id = o.opType_id
WHERE t.string = 'KernelExecution';
CREATE VIEW copy AS SELECT a.id, pid, tid, start, "end", s.string AS apiName, stream, size, width, height, kind, dst,
	src, dstDevice, srcDevice, sync, pinned
FROM rocpd_copyapi c JOIN rocpd_api a ON a.id = c.api_ptr_id JOIN rocpd_string s ON s.id = a.apiName_id;
CREATE VIEW copyop AS SELECT o.id, gpuId, queueId, sequenceId, o.start, o."end", o."end" - o.start AS duration, stream,
	size, width, height, kind, dst, src, dstDevice, srcDevice, sync, pinned, s.string AS apiName
FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_copyapi c ON c.api_ptr_id = l.api_id
JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_string s ON s.id = a.apiName_id
JOIN rocpd_string t ON t.id = o.opType_id WHERE t.string LIKE 'Copy%';
