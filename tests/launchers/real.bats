#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Real launchers, as users type them.
load ../system/lib.bash

bats_require_minimum_version 1.5.0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi() { mpirun --oversubscribe "$@"; }

ranks_are() { # ranks_are DATABASE COUNT LAUNCHER
	[ "$(sql "$1" 'SELECT group_concat(rank) FROM (SELECT rank FROM rtl_process ORDER BY rank)')" = \
		"$(seq -s, 0 $(($2 - 1)))" ]
	[ "$(sql "$1" 'SELECT group_concat(DISTINCT launcher) FROM rtl_process')" = "$3" ]
	[ "$(sql "$1" 'SELECT group_concat(DISTINCT world_size) FROM rtl_process')" = "$2" ]
}

@test "rtl trace torchrun --no-python: one database, eight ranks" {
	PATH=$RTL_BUILD/bin:$PATH
	# PyTorch 2 spells it --no-python, Debian's 1.13 --no_python.
	# 1.13 on Python 3.11 fails on its own unless one stream is teed and one redirected.
	local no_python=--no_python torch
	torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").origin)')
	if grep -q -- '"--no-python"' "${torch%/*}/distributed/run.py"; then
		no_python=--no-python
	fi
	rtl trace --device soft -o trace.db torchrun $no_python --nproc_per_node=8 \
		-t 1 -r 2 --log_dir log --master_port "$(free_port)" \
		"$demo" --steps 5 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored trace.db)" ]
	ranks_are trace.db 8 torchrun
	accounted trace.db
}

@test "rtl trace over an old file moves it aside" {
	"$rtl" trace --device soft -o trace.db "$demo" --ranks 1 --steps 2
	cp trace.db first.db
	"$rtl" trace --device soft -o trace.db "$demo" --ranks 1 --steps 3 2>err
	cmp first.db trace.db.1
	grep -q 'trace.db.1' err
}

@test "rtl run mpirun -n 4" {
	"$rtl" run --device soft -o t.db mpirun --oversubscribe -n 4 "$demo" --steps 5 >out
	[ "$(told out)" = "$(stored t.db)" ]
	ranks_are t.db 4 openmpi
	accounted t.db
}

# bats test_tags=apart
@test "rtl run mpirun.mpich -n 4, and mpirun.mpich -n 4 rtl run" {
	"$rtl" run --device soft -o a.db mpirun.mpich -n 4 "$demo" --steps 3 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored a.db)" ]
	ranks_are a.db 4 hydra
	accounted a.db
	mpirun.mpich -n 4 "$rtl" run --device soft -o b.db "$demo" --steps 3 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored b.db)" ]
	ranks_are b.db 4 hydra
	accounted b.db
	[ "$(sql b.db 'SELECT count(*) FROM rtl_session')" -eq 1 ]
}

@test "mpirun -n 4 rtl run -o FILE: four runners join one collector" {
	mpi -n 4 "$rtl" run --device soft -o t.db "$demo" --steps 5 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored t.db)" ]
	ranks_are t.db 4 openmpi
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rtl_session')" -eq 1 ]
	[ "$(grep -c 'complete: ' err)" -eq 1 ]
}

# Ranks as DeepSpeed's launch.py starts them, each with the variables and COMMAND... before the program.
deepspeed_ranks() { # deepspeed_ranks RANKS COMMAND...
	local ranks=$1 r children=()
	shift
	for ((r = 0; r < ranks; r++)); do
		RANK=$r LOCAL_RANK=$r WORLD_SIZE=$ranks LOCAL_SIZE=$ranks CROSS_RANK=0 CROSS_SIZE=1 \
			MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 "$@" >out.$r 2>err.$r &
		children+=($!)
	done
	for r in "${children[@]}"; do
		wait "$r" || return
	done
	cat out.* >out
}

on_a_gpu_each() { # on_a_gpu_each DATABASE RANKS: rank N has used GPU N, and no other
	[ "$(sql "$1" 'SELECT group_concat(rank || ":" || gpuId) FROM
		(SELECT DISTINCT rank, gpuId FROM rocpd_op ORDER BY rank, gpuId)')" = \
		"$(for ((r = 0; r < $2; r++)); do echo "$r:$r"; done | paste -sd,)" ]
}

@test "rtl run of DeepSpeed's variables: four ranks" {
	export -f deepspeed_ranks
	export demo
	"$rtl" run --device soft -o t.db bash -c 'deepspeed_ranks 4 "$demo" --steps 3'
	[ "$(told out)" = "$(stored t.db)" ]
	ranks_are t.db 4 deepspeed
	on_a_gpu_each t.db 4
	accounted t.db
}

@test "four ranks in an mpirun of one process have the rank that they say, not its 0" {
	export -f deepspeed_ranks
	export demo
	"$rtl" run --device soft -o t.db mpirun -n 1 bash -c 'deepspeed_ranks 4 "$demo" --steps 3'
	[ "$(told out)" = "$(stored t.db)" ]
	ranks_are t.db 4 deepspeed
	on_a_gpu_each t.db 4
	accounted t.db
}

@test "rtl run -o FILE in each rank of DeepSpeed: four runners join one collector" {
	# All runners have joined before the first rank ends.
	deepspeed_ranks 4 "$rtl" run --device soft -o t.db sh -c '
		touch "here.$RANK"
		for try in $(seq 1200); do
			if [ -e here.0 ] && [ -e here.1 ] && [ -e here.2 ] && [ -e here.3 ]; then break; fi
			sleep 0.05
		done
		exec "$0" --steps 3' "$demo"
	[ "$(told out)" = "$(stored t.db)" ]
	ranks_are t.db 4 deepspeed
	accounted t.db
	[ "$(sql t.db 'SELECT count(*) FROM rtl_session')" -eq 1 ]
	[ "$(cat err.* | grep -c 'complete: ')" -eq 1 ]
}

@test "a collector keeps ranks that meet at one address in one session" {
	start_collector
	RTL_SOCKET=$work/c.sock LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=$libdir/softgpu \
		deepspeed_ranks 4 "$demo" --steps 3
	wait_until closed all.db 4
	[ "$(told out)" = "$(stored all.db)" ]
	ranks_are all.db 4 deepspeed
	[ "$(sql all.db 'SELECT group_concat(job) FROM rtl_session')" = 127.0.0.1.29511 ]
}

start_collector() { # a collector of one's own, as a user would start it by hand
	"$collectord" --socket "$work/c.sock" --db "$work/all.db" >collector.log 2>&1 3>&- &
	collector=$!
	pids+=($collector)
	wait_until listens "$work/c.sock"
}

closed() { # closed DATABASE: nothing open in it
	[ "$(sql "$1" 'SELECT count(*) FROM rtl_session WHERE end_ns IS NULL')" = 0 ] &&
		[ "$(sql "$1" 'SELECT count(*) FROM rtl_process WHERE drained = 1')" = "${2:-1}" ]
}

@test "LD_PRELOAD alone" {
	start_collector
	RTL_SOCKET=$work/c.sock LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=$libdir/softgpu \
		"$demo" --ranks 2 --steps 4 >out
	wait_until closed all.db 2
	[ "$(told out)" = "$(stored all.db)" ]
}

@test "HSA_TOOLS_LIB alone" {
	start_collector
	RTL_SOCKET=$work/c.sock HSA_TOOLS_LIB=$libdir/librtl-shim.so LD_LIBRARY_PATH=$libdir/softgpu \
		"$demo" --ranks 2 --steps 4 >out
	wait_until closed all.db 2
	[ "$(told out)" = "$(stored all.db)" ]
}

@test "eval \"\$(rtl env)\"" {
	start_collector
	(
		eval "$("$rtl" env --socket "$work/c.sock" --device soft)"
		"$demo" --ranks 2 --steps 4 >out
	)
	wait_until closed all.db 2
	[ "$(told out)" = "$(stored all.db)" ]
}

@test "rtl run in the environment of another installation records with its own" {
	mkdir other
	cp "$libdir/librtl-shim.so" other/
	LD_PRELOAD=${preload/"$libdir"/"$work/other"} HSA_TOOLS_LIB=$work/other/librtl-shim.so \
		"$rtl" run -q --device soft -o t.db "$demo" --steps 2 >out 2>err
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
}

@test "rtl run srun -n 4, srun -n 1 of four ranks, and srun -n 4 rtl run" {
	load ../system/slurm.bash
	slurm_start
	"$rtl" run --device soft -o a.db srun -n 4 --overcommit "$demo" --steps 3 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored a.db)" ]
	ranks_are a.db 4 slurm
	accounted a.db
	export -f deepspeed_ranks
	export demo
	"$rtl" run --device soft -o one.db srun -n 1 --overcommit --chdir "$work" \
		bash -c 'deepspeed_ranks 4 "$demo" --steps 3' 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored one.db)" ]
	ranks_are one.db 4 deepspeed
	on_a_gpu_each one.db 4
	srun -n 4 --overcommit --chdir "$work" "$rtl" run --device soft -o b.db "$demo" --steps 3 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored b.db)" ]
	ranks_are b.db 4 slurm
	accounted b.db
}

@test "the TaskProlog of examples/slurm has the service record each task of a job that asks for it, and no other job" {
	load ../system/slurm.bash
	slurm_start "TaskProlog=$here/../../examples/slurm/taskprolog"
	mkdir store
	"$collectord" --socket "$work/s.sock" --db-dir "$work/store" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/s.sock"
	export RTL_SOCKET=$work/s.sock PATH=$RTL_BUILD/bin:$PATH LD_LIBRARY_PATH=$libdir/softgpu
	srun -n 2 --overcommit --chdir "$work" "$demo" --steps 2 >plain 2>err
	[ "$(told plain | wc -l)" -eq 2 ]
	RTL=1 srun -n 2 --overcommit --chdir "$work" "$demo" --steps 2 >out 2>err
	is_stored() {
		[ "$(ls store/*/*.db | wc -l)" -eq 1 ] && [ "$(told out)" = "$(stored "$(echo store/*/*.db)")" ]
	}
	wait_until is_stored
	ranks_are "$(echo store/*/*.db)" 2 slurm
}

# bats test_tags=apart
@test "torchrun examples/train.py: each of its HIP kernels is in the range of its step, on each rank" {
	"$rtl" run --device soft -o t.db torchrun --nproc_per_node=2 -t 1 -r 2 --log_dir log --master_port "$(free_port)" \
		"$here/../../examples/train.py" --steps 4 --kernels 5 --straggler 1 --late-ms 1 >out 2>err || { cat out err; false; }
	ranks_are t.db 2 torchrun
	accounted t.db
	[ "$(sql t.db 'SELECT rank, marker, count(*) FROM kernel GROUP BY 1, 2 ORDER BY 1, 2' | paste -sd ' ')" = \
		"0|backward|40 0|forward|20 1|backward|40 1|forward|20" ]
	[ "$("$rtl" timeline --json t.db | jq -c '[.steps.source, .steps.count]')" = '["markers",8]' ]
	grep -q '^rtl: SIMULATED reason: ' err
}

# bats test_tags=apart
@test "torch.multiprocessing.spawn: the ranks that its processes set late, and none where they are arguments" {
	"$rtl" run -q --device soft -o a.db python3 "$here/../launchers/spawn.py" variables "$(free_port)" >out 2>err || { cat out err; false; }
	ranks_are a.db 2 pytorch
	accounted a.db
	[ "$(sql a.db 'SELECT rank, count(*) FROM kernel GROUP BY 1' | paste -sd ' ')" = "0|18 1|18" ]
	# As vLLM and SGLang do. What is not said is not known, and never 0.
	"$rtl" run -q --device soft -o b.db python3 "$here/../launchers/spawn.py" arguments "$(free_port)" >out 2>err || { cat out err; false; }
	accounted b.db
	[ "$(sql b.db 'SELECT DISTINCT rank IS NULL, count(*) FROM kernel GROUP BY process_id' | paste -sd ' ')" = "1|18" ]
	[ "$(sql b.db 'SELECT count(DISTINCT process_id) FROM kernel')" = 2 ]
}

@test "a service that is there and does not answer is named in one line of a launch, which is recorded privately" {
	[ "$(id -u)" -eq 0 ] || {
		echo "needs root: it puts a socket into a /run of its own"
		return 1
	}
	mkdir node
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("node/rtl.sock")'
	unshare --mount sh -c 'mount --bind node /run && exec "$@"' sh \
		mpirun --oversubscribe -n 4 "$rtl" run --device soft "$demo" --steps 3 >out 2>err || { cat err; false; }
	[ "$(grep -c '^rtl: collector at /run/rtl.sock: no process listens there; a private one is used$' err)" -eq 1 ]
	[ "$(ls rtl-*.db | wc -l)" -eq 1 ]
	[ "$(told out)" = "$(stored rtl-*.db)" ]
	accounted rtl-*.db
}

# bats test_tags=apart
@test "a service named by --socket that takes no connection is named in one line of each launch, whose ranks run unrecorded" {
	cat >full.py <<-'PYTHON'
		import signal, socket
		listener = socket.socket(socket.AF_UNIX)
		listener.bind("full.sock")
		listener.listen(0)
		waiting = []
		try:
		    while True:
		        waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
		        waiting[-1].connect("full.sock")
		except BlockingIOError:
		    open("is_full", "w").close()
		signal.pause()
	PYTHON
	python3 full.py 3>&- &
	pids+=($!)
	wait_until test -e is_full
	mkdir -p -m 0700 run/rtl
	touch -d '2 days ago' run/rtl/old.told
	for launch in 1 2; do
		mpi -n 4 "$rtl" run --socket full.sock --device soft "$demo" --steps 3 >out 2>err || { cat err; false; }
		[ "$(grep '^rtl: ' err)" = "rtl: collector at $work/full.sock: too many connections wait there; the job runs unrecorded" ]
		[ "$(told out | wc -l)" -eq 4 ]
	done
	[ "$(find run -name '*.told' | wc -l)" -eq 2 ]
}
