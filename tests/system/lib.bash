# SPDX-License-Identifier: MIT
# Common to the bats files: every test in a directory of its own, on the software GPU, with
# its own sockets. RTL_BUILD is the build directory (set by ctest).
: "${RTL_BUILD:?run through ctest, or set RTL_BUILD to the build directory}"
# Debian's programs, which tests/setup.sh installs, before others of their names: a python3 of pyenv takes ten
# times as long to start.
PATH=/usr/bin:/bin:$PATH
here=${BASH_SOURCE[0]%/*}
[[ $here == /* ]] || here=$PWD/$here
rtl=$RTL_BUILD/bin/rtl
collectord=$RTL_BUILD/bin/collectord
demo=$RTL_BUILD/bin/rtl-demo
libdir=$RTL_BUILD/lib
# What LD_PRELOAD names: a sanitized shim needs its runtime in front.
preload=$libdir/librtl-shim.so
sanitizer=""
grep -q '^RTL_SANITIZE:STRING=$' "$RTL_BUILD/CMakeCache.txt" || sanitizer=$(ldd "$preload" | awk '/lib[at]san/ {print $3}')
preload=${sanitizer:+$sanitizer }$preload

setup() {
	work=$(mktemp -d)
	cd "$work" || return 1
	export XDG_RUNTIME_DIR=$work/run XDG_STATE_HOME=$work/state TMPDIR=$work
	mkdir -m 0700 run state truth
	export SOFTGPU_TRUTH=$work/truth/%p SOFTGPU_COUNT=8
	export SOFTGPU_SCRIPT=$here/../workload/softgpu.script
	unset RTL_SOCKET RTL_JOB_ID RTL_MODE RTL_RANK RTL_DEBUG LD_PRELOAD HSA_TOOLS_LIB
	pids=()
	# Bats notes the place of each command of a function for the report of a failure, and takes longer for it than many
	# commands do. Without it the report still names the line of the test.
	[ -z "${RTL_TEST_QUICK:-}" ] || set +T
}

# What the commands of a test wrote, the last of each file: its folder is gone after the test.
said() {
	local file
	cd "$work" || return
	for file in err* out* *.log; do
		[ -f "$file" ] && [ -s "$file" ] || continue
		echo "--- $file ends with:"
		tail -c 4000 "$file" | tail -n 40 | cat -v
		echo
	done
}

teardown() {
	local pid
	[ -n "$BATS_TEST_COMPLETED" ] || said
	for pid in "${pids[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
	done
	# We ourselves are elsewhere then.
	cd /
	# Bats traces each command, which takes longer than the command: not in functions that are called from here on.
	set +T
	kill_left
	rm -rf "$work"
}

# Ends what a job of the test has left running. No process for each one that a busy machine has.
kill_left() {
	for pid in /proc/[0-9]*; do
		[ ! "$pid/cwd" -ef "$work" ] || kill -9 "${pid#/proc/}" 2>/dev/null || true
	done
}

# wait_until COMMAND...: until it succeeds; fails after the deadline. A machine of CI may stand still
# for two minutes, as its kernel says (workqueue lockup).
wait_until() {
	local deadline=$((SECONDS + 900)) looks=0 pause_s=0.02
	until "$@"; do
		[ $SECONDS -lt $deadline ] || {
			echo "gave up waiting for: $*"
			return 1
		}
		# To look takes as long as a program starts: what is not there soon is looked for less often.
		looks=$((looks + 1))
		[ $looks -lt 20 ] || pause_s=0.1
		read -rt $pause_s <> <(:) || true
	done
}

# ends_by SIGNAL PID: a job of this shell, which the signal ends. $! is another one after wait_until.
ends_by() {
	local ended=0
	kill -"$1" "$2"
	wait "$2" || ended=$?
	[ "$ended" -eq $((128 + $(kill -l "$1"))) ]
}

# listens SOCKET: a collector answers there; a socket that is there need not be listened on yet
listens() { "$rtl" ctl --socket "$1" status >/dev/null 2>&1; }

# The node may have collectors of others, and another test one: from here on, only the job's.
only_ours() {
	local socket=$(echo "$XDG_RUNTIME_DIR"/rtl/*.sock)
	[ -S "$socket" ] || return 1
	export RTL_SOCKET=$socket
}

# not COMMAND...: fails where it succeeds. Of a bare "!" bats takes no notice (lint.bats).
not() {
	! "$@"
}

sql() { # sql DATABASE STATEMENT: stock sqlite3, read-only
	sqlite3 -readonly -cmd '.timeout 10000' "$1" "$2"
}

# The job's own count per rank and GPU, from its last lines: "rank|gpu|kernels" sorted.
told() {
	sed -n 's/^.*dispatched rank=\([0-9]*\) gpu=\([0-9]*\) kernels=\([0-9]*\).*$/\1|\2|\3/p' "$1" | sort
}

# The same from a database.
stored() {
	sql "$1" "SELECT rank, gpuId, count(*) FROM rocpd_op GROUP BY rank, gpuId" | sort
}

truth_csv() { # one CSV of every process's truth log, after checking that there is one
	local log
	for log in "$work"/truth/*; do
		"$RTL_BUILD/bin/softgpu-truth" "$log" >"$work/$(basename "$log").truth.csv" || return 1
	done
	ls "$work"/*.truth.csv
}

# Every invariant that SQL can see, for a closed database.
accounted() { # accounted DATABASE
	local bad
	bad=$(sql "$1" "SELECT 'pending ' || process_id || ' ' || pending FROM rtl_account WHERE pending <> 0
		UNION ALL SELECT 'ledger ' || a.process_id || '/' || a.queueId || ': ' || a.stored || ' rows ' || coalesce(o.n, 0)
			FROM rtl_account a LEFT JOIN (SELECT process_id, queueId, count(*) AS n, count(start) AS t
				FROM rocpd_op GROUP BY 1, 2) o USING (process_id, queueId)
			WHERE a.stored <> coalesce(o.n, 0) OR a.timed <> coalesce(o.t, 0)
		UNION ALL SELECT 'twice ' || process_id || '/' || queueId || '/' || sequenceId
			FROM rocpd_op GROUP BY process_id, queueId, sequenceId HAVING count(*) > 1
		UNION ALL SELECT 'stored and outstanding ' || process_id || '/' || queueId || '/' || sequenceId
			FROM rtl_outstanding JOIN rocpd_op USING (process_id, queueId, sequenceId)
		UNION ALL SELECT 'undrained ' || id FROM rtl_process WHERE drained = 0
		UNION ALL SELECT 'integrity ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
	[ -z "$bad" ] || {
		echo "$bad" | head -20
		return 1
	}
	[ "$(sql "$1" 'PRAGMA journal_mode')" = delete ] && [ ! -e "$1-wal" ] && [ ! -e "$1-shm" ]
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
