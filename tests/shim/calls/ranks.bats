#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Processes that set their rank late (ranks_main.c): by PyTorch's variables after HIP was initialised, and
# by an RCCL communicator of the stand-in, fake_rccl.c.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0

export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
export program=$RTL_BUILD/tests-bin/ranks-calls
unset RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT

record() { # record SCRIPT: into t.db
	unset SOFTGPU_SCRIPT
	head -c 128 /dev/urandom >a.id
	head -c 128 /dev/urandom >b.id
	RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft -- bash -c "$1" 2>err || {
		cat err
		return 1
	}
	accounted t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

ranks() { # of each GPU: rank, group as a letter, group_rank
	sql t.db "WITH g AS (SELECT \"group\" AS id, char(64 + row_number() OVER (ORDER BY min(gpu))) AS name
			FROM (SELECT p.*, (SELECT min(gpuId) FROM rtl_queue q WHERE q.process_id = p.id) AS gpu
				FROM rtl_process p) WHERE \"group\" IS NOT NULL GROUP BY \"group\")
		SELECT group_concat(line, ' ') FROM (SELECT o.gpuId || ':' || ifnull(p.rank, '-') || ifnull(g.name, '-') ||
			ifnull(p.group_rank, '-') AS line FROM (SELECT DISTINCT gpuId, process_id FROM rocpd_op) o
			JOIN rtl_process p ON p.id = o.process_id LEFT JOIN g ON g.id = p.\"group\" ORDER BY o.gpuId)"
}

@test "a rank that a program sets when HIP is up already is its rank" {
	record 'for r in 0 1 2 3; do
		$program $r 4 RANK=$r LOCAL_RANK=$r WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=1 & done; wait'
	[ "$(ranks)" = "0:0-- 1:1-- 2:2-- 3:3--" ]
	[ "$(sql t.db 'SELECT DISTINCT launcher, world_size FROM rtl_process')" = "pytorch|4" ]
}

@test "a rank that is set late replaces the 0 of a one-task Slurm step" {
	record 'export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=1
		for r in 0 1 2 3; do $program $r 4 RANK=$r LOCAL_RANK=$r WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=1 & done; wait'
	[ "$(ranks)" = "0:0-- 1:1-- 2:2-- 3:3--" ]
}

@test "processes without a rank get that of their largest communicator" {
	record 'for r in 0 1 2 3; do $program $r 4 comm=$((r % 2))/2/b.id comm=$r/4/a.id & done; wait'
	[ "$(ranks)" = "0:0A0 1:1A1 2:2A2 3:3A3" ]
	[ "$(sql t.db 'SELECT DISTINCT world_size FROM rtl_process')" = 4 ]
}

@test "a communicator that is larger than Slurm's step of one task has the ranks" {
	record 'export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=1
		for r in 0 1 2 3; do $program $r 4 comm=$r/4/a.id & done; wait'
	[ "$(ranks)" = "0:0A0 1:1A1 2:2A2 3:3A3" ]
}

@test "two replicas with ranks 0 and 1 each: no rank of the job, but a group and a rank in it" {
	record 'for e in a b; do
			bash -c "for r in 0 1; do $program \$((r + $([ $e = b ] && echo 2 || echo 0))) 4 comm=\$r/2/$e.id & done; wait" &
		done; wait'
	[ "$(ranks)" = "0:-A0 1:-A1 2:-B0 3:-B1" ]
	"$rtl" summary --json t.db >summary.json
	[ "$(jq -r '[.ranks[] | select(.rank == null) | .note] | sort | join("|")' summary.json)" = \
		"replica 1, rank 0|replica 1, rank 1|replica 2, rank 0|replica 2, rank 1" ]
	"$rtl" summary t.db | grep -q 'replica 2, rank 1'
	"$rtl" report t.db --html report.html
	grep -q 'replica 2, rank 1' report.html
}

@test "replicas without a communicator are told apart by the engine that started them" {
	record 'for e in 0 2; do
			bash -c "for r in 0 1; do RANK=\$r LOCAL_RANK=\$r WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=$e \
				$program \$((r + $e)) 4 & done; wait; :" &
		done; wait'
	[ "$(ranks)" = "0:-A0 1:-A1 2:-B0 3:-B1" ]
}

@test "a helper that a rank has started on another GPU does not take its rank" {
	record '$program 1 2 RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=1 helper=0'
	[ "$(ranks)" = "0:1-- 1:1--" ]
}

@test "--ranks records a rank that is set late, and leaves out the others" {
	unset SOFTGPU_SCRIPT
	RTL_EXIT_MS=60000 "$rtl" run --ranks 1,3 -o t.db --device soft -- bash -c 'for r in 0 1 2 3; do
		$program $r 4 RANK=$r LOCAL_RANK=$r WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=1 & done; wait' 2>err
	[ "$(ranks)" = "1:1-- 3:3--" ]
	[ "$(sql t.db 'SELECT group_concat(n) FROM (SELECT count(*) AS n FROM rocpd_op GROUP BY gpuId)')" = 3,3 ]
}

has_rank() {
	[ "$(sql t.db 'SELECT rank FROM rtl_process' 2>/dev/null)" = 1 ]
}

@test "a process killed after it has set its rank keeps it" {
	unset SOFTGPU_SCRIPT
	"$rtl" run -o t.db --device soft -- bash -c '$program 1 2 RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=1 & p=$!
		until [ -e ready.$p ]; do read -rt 0.02 <> <(:); done; touch ready; wait $p' 2>err &
	pids+=($!)
	wait_until test -e ready
	# The thread that tells may have no processor yet.
	wait_until has_rank
	kill -9 "$(sql t.db 'SELECT pid FROM rtl_process')"
	wait "${pids[0]}" || true
	[ "$(sql t.db 'SELECT rank, ended FROM rtl_process')" = "1|killed" ]
}
