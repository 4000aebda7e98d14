#!/bin/bash
# SPDX-License-Identifier: MIT
# A closed session of a training job, made by SQLite: what reading one of that size costs.
# usage: timeline_db.sh OUT.db [RANKS] [KERNELS_PER_RANK] [markers|none]     (8, 1000000, markers)
# A step is 100 kernels of computation on one queue and 25 of communication on another, half of
# which computation hides. Ranks lie interleaved in frames of 1024 records, as a collector has them.
set -euo pipefail
schema=$(cd "$(dirname "$0")/../../collectord/db/schema" && pwd)
out=$1 ranks=${2:-8} kernels=${3:-1000000} markers=${4:-markers}
[ ! -e "$out" ]
{
	echo "PRAGMA page_size = 32768; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
	cat "$schema"/*.sql
	cat <<SQL
PRAGMA application_id = $((0x52544c64));
PRAGMA user_version = $(find "$schema" -name '*.sql' | wc -l);
INSERT INTO rtl_session (id, name, uid, start_ns, start_realtime_ns, end_ns) VALUES (1, 'bench', 0, 0, 0, 1);
INSERT INTO rocpd_string (id, string) SELECT 100 + value, CASE
	WHEN value < 10 THEN 'Cijk_Ailk_Bljk_HHS_BH_MT' || value
	WHEN value < 90 THEN 'void at::native::vectorized_elementwise_kernel<' || value || '>'
	WHEN value < 100 THEN 'vllm::rms_norm_kernel<' || value || '>'
	WHEN value < 120 THEN 'ncclDevKernel_AllReduce_Sum_f32_RING_LL_' || value
	ELSE 'ncclDevKernel_ReduceScatter_Sum_f32_RING_LL_' || value END
	FROM generate_series(0, 124);
INSERT INTO rtl_kernel_base SELECT id, string || '.kd' FROM rocpd_string WHERE id >= 100;
INSERT INTO rtl_process (id, session_id, pid, start_ns, rank, boot_id, uid, drained, token, start_time,
	mode, ended) SELECT value + 1, 1, value + 100, 0, value, 'b', 0, 1, '', 0, 'standard', 'exited'
	FROM generate_series(0, $ranks - 1);
INSERT INTO rtl_shape SELECT r.value * 125 + k.value + 1, r.value + 1, r.value, k.value >= 100, 100 + k.value,
	1, 1, 1, 1, 1, 1, 0, 0 FROM generate_series(0, $ranks - 1) r, generate_series(0, 124) k;
-- i: which of its rank; 100 us a kernel.
INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid)
	SELECT rank * 125 + i % 125 + 1, i / 125 * CASE WHEN i % 125 < 100 THEN 100 ELSE 25 END
		+ CASE WHEN i % 125 < 100 THEN i % 125 ELSE i % 125 - 100 END,
	1000000000 + rank * 1000 + i / 125 * 10000000 + CASE WHEN i % 125 < 100 THEN i % 125 * 100000
		ELSE (i % 125 - 100) * 400000 + 97000 END,
	CASE WHEN i % 125 < 100 THEN 70000 + i % 7 * 4000 ELSE 50000 END, 2000000, 7
	FROM (SELECT value / 1024 % $ranks AS rank, value / (1024 * $ranks) * 1024 + value % 1024 AS i
		FROM generate_series(0, ($kernels + 1023) / 1024 * 1024 * $ranks - 1)) WHERE i < $kernels;
INSERT INTO rtl_queue (process_id, queueId, gpuId, dispatched, stored) SELECT r.value + 1, q.value, r.value,
	$kernels / 125 * CASE q.value WHEN 0 THEN 100 ELSE 25 END
		+ CASE q.value WHEN 0 THEN min(100, $kernels % 125) ELSE max(0, $kernels % 125 - 100) END,
	$kernels / 125 * CASE q.value WHEN 0 THEN 100 ELSE 25 END
		+ CASE q.value WHEN 0 THEN min(100, $kernels % 125) ELSE max(0, $kernels % 125 - 100) END
	FROM generate_series(0, $ranks - 1) r, generate_series(0, 1) q;
SQL
	[ "$markers" = none ] || cat <<SQL
INSERT INTO rocpd_string (id, string) SELECT 1000 + value, 'ProfilerStep#' || value
	FROM generate_series(0, $kernels / 125);
INSERT INTO rtl_marker_base SELECT r.value + 1, s.value + 1, NULL, 7, 'push', 1000 + s.value,
	998000000 + s.value * 10000000, 998000000 + s.value * 10000000 + 9990000
	FROM generate_series(0, $ranks - 1) r, generate_series(0, $kernels / 125) s;
SQL
	echo "COMMIT;"
} | sqlite3 -bail "$out" >/dev/null
