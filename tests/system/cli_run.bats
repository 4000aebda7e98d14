#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What rtl run promises to the job and to the shell around it, whatever becomes of the record.
load lib.bash

bats_require_minimum_version 1.5.0

# A program of its own beside nothing: no collector can be started, no shim found.
lonely() {
	mkdir -p "$work/lonely/bin" "$work/lonely/lib"
	cp "$rtl" "$work/lonely/bin/rtl"
	echo "$work/lonely/bin/rtl"
}

# A job that waits for signals: writes each to ./signals, ends on USR2 with 9.
waiter='
import signal, sys
def note(n, frame):
    with open("signals", "a") as f: f.write(signal.Signals(n).name + "\n")
    if n == signal.SIGUSR2: sys.exit(9)
for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGINT,
          signal.SIGXCPU, signal.SIGALRM, signal.SIGABRT, signal.SIGRTMIN):
    signal.signal(n, note)
open("ready", "w").close()
while True: signal.pause()
'

has_line() { grep -qx "$1" "$2" 2>/dev/null; }

@test "a process that uses the GPU without the shim is named, INCOMPLETE in the file, and --strict is 3" {
	# The kernel's list of processes that have the driver open, and a driver, as far as rtl run looks at them.
	cat >host.sh <<-'EOF'
		set -e
		mkdir dev
		mount -t tmpfs -o strictatime none dev
		for name in null zero urandom; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
		touch dev/kfd
		mount --rbind dev /dev
		mount -t tmpfs -o strictatime none /sys
		mkdir -p /sys/class/kfd/kfd/proc
		exec "$@"
	EOF
	# Its environment is clean; it ends when rtl run has looked at the list once more than it takes to be judged.
	cat >job.sh <<-'EOF'
		exec 9</dev/kfd
		list=/sys/class/kfd/kfd/proc
		: >$list/$$
		for look in 1 2; do
			before=$(stat -c %x $list)
			until [ "$(stat -c %x $list)" != "$before" ]; do :; done
		done
	EOF
	run -3 --separate-stderr unshare --user --map-root-user --mount sh host.sh \
		"$rtl" run --strict -o t.db --device soft -- env -i PATH="$PATH" sh job.sh
	[[ $stderr == *"used a GPU and is not recorded: LD_PRELOAD and HSA_TOOLS_LIB are not in its environment;"* ]]
	[[ $stderr != *"no kernel was seen"* ]]
	[[ ${stderr_lines[-1]} == "INCOMPLETE: 0 dispatched, 0 stored, "*", 1 process not recorded" ]]
	[ "$(sql t.db "SELECT count FROM rtl_loss WHERE reason = 'processes_unseen'")" -eq 1 ]
}

@test "rtl run exits with the command's status" {
	run -0 "$rtl" run -q -o a.db true
	run -1 "$rtl" run -q -o b.db false
	run -42 "$rtl" run -q -o c.db sh -c 'exit 42'
	run -125 "$rtl" run -q -o d.db sh -c 'exit 125'
}

@test "exit status: 128+N for signal N" {
	run -143 "$rtl" run -q -o a.db sh -c 'kill -TERM $$'
	run -137 "$rtl" run -q -o b.db sh -c 'kill -KILL $$'
}

@test "exit status: 127 not found, 126 not executable, and no database" {
	run -127 "$rtl" run -o a.db no-such-command
	[[ $output == *no-such-command* ]]
	run -127 "$rtl" run -o a.db ./no/such/file
	run -126 "$rtl" run -o a.db "$work"
	echo data >plain
	run -126 "$rtl" run -o a.db ./plain
	printf '#!/no/such/interpreter\n' >script && chmod +x script
	run -127 "$rtl" run -q -o b.db ./script
	[ ! -e a.db ]
	# That was seen when its session was open: it is closed, and its file not in use.
	[ "$output" = "rtl: ./script: command not found" ]
	[ -z "$(find run -name '*.sock')" ]
	[ "$(sql b.db 'SELECT exit_status FROM rtl_session WHERE end_ns IS NOT NULL')" = 127 ]
	"$rtl" summary b.db | grep -qx 'complete: 0 dispatched, 0 stored'
	run -127 --separate-stderr "$rtl" run -f -o b.db ./script
	[ "$stderr" = "rtl: ./script: command not found" ]
}

@test "a collector whose files may not grow says so, and the job runs" {
	run -7 --separate-stderr bash -c 'ulimit -f 100 && "$@"' -- "$rtl" run -o a.db sh -c 'exit 7'
	[ "$stderr" = "rtl: collector: $work/a.db: File too large; the job runs unrecorded" ]
	[ ! -e a.db ]
}

@test "a script without an interpreter line runs, as in a shell" {
	printf 'exit 5\n' >script && chmod +x script
	run -5 "$rtl" run -q -o a.db ./script
}

@test "exit status: 125 for usage" {
	run -125 "$rtl" run
	run -125 "$rtl" run --no-such-option true
	[[ $output == *--no-such-option* ]]
	run -125 "$rtl" run -o
	run -125 "$rtl" run -o '' true
	run -125 "$rtl" run --device gpu true
	run -125 "$rtl" run --socket s -o a.db true
	run -0 "$rtl" run --help
}

@test "a bad value of a variable is one line, and nothing starts" {
	local bad why
	while IFS='|' read -r bad why; do
		run -125 env "$bad" "$rtl" run -o a.db touch ran
		[ "$output" = "rtl: run: $bad is not $why; correct or unset it" ]
		run -2 --separate-stderr env "$bad" "$rtl" env
		[ -z "$output" ]
		[ "$stderr" = "rtl: env: $bad is not $why; correct or unset it" ]
	done <<'END'
RTL_MODE=bogus|lite, standard, full, hip, barriers, all or off
RTL_FRONT_END=best|auto, shadow, intercept or none
RTL_RINGS=gpu|host or keep
RTL_THREAD=off|yes or no
RTL_DEBUG=yes|0, 1 or 2
RTL_DEBUG=3|0, 1 or 2
RTL_EXIT_MS=-1|milliseconds, from 0 to 600000
RTL_EXIT_MS=600001|milliseconds, from 0 to 600000
RTL_RANK=first|a rank, from 0 to 4294967295
RTL_LOCAL_RANK=4294967296|a rank, from 0 to 4294967295
END
	[ ! -e ran ]
	[ ! -e a.db ]
	run -125 env RTL_RANK=$'\e[2J1' "$rtl" run -o a.db touch ran
	[[ $output == 'rtl: run: RTL_RANK=?[2J1 is not a rank'* ]]
	# A flag stands over its variable; an empty one is none.
	run -0 env RTL_MODE=bogus RTL_RANK= RTL_DEBUG= "$rtl" run -q -m lite -o a.db touch ran
	[ -e ran ]
}

@test "a rank that cannot be recorded is missing from the record, and runs as ever" {
	# Its recorder is larger than any file of its may be.
	run -3 --separate-stderr "$rtl" run --strict -o a.db --device soft \
		bash -c '"$0" --dispatches 50 && ulimit -f 16384 && env -u SOFTGPU_TRUTH "$0" --dispatches 50' "$demo"
	[ "$(grep -c '^rtl: cannot record: File too large; the program runs unobserved$' <<<"$stderr")" -eq 1 ]
	[[ ${stderr_lines[-1]} == "SIMULATED INCOMPLETE: 50 dispatched, 50 stored, "*", 1 process not recorded" ]]
	[ "$(sql a.db "SELECT count FROM rtl_loss WHERE reason = 'processes_unseen'")" -eq 1 ]
	# No other process is there.
	run -3 --separate-stderr "$rtl" run --strict -o b.db --device soft \
		bash -c 'ulimit -f 16384 && env -u SOFTGPU_TRUTH "$0" --dispatches 50' "$demo"
	[[ ${stderr_lines[-1]} == "INCOMPLETE: 0 dispatched, "*", 1 process not recorded" ]]
	[[ $stderr != *"no kernel was seen"* ]]
	# While others go on, too.
	missing() { [ "$("$rtl" stat --json --count 1 | jq -c '[.sessions[] | .lost, .missing]')" = "[0,$1]" ]; }
	export -f missing wait_until
	run -0 env rtl="$rtl" "$rtl" run -q -o d.db --device soft bash -c '"$0" --dispatches 50 && wait_until missing false &&
		(ulimit -f 16384 && env -u SOFTGPU_TRUTH "$0" --dispatches 50) && wait_until missing true &&
		"$rtl" stat --batch --count 1' "$demo"
	[[ $output == *" 0 lost !"*"SIMULATED INCOMPLETE: "*", 1 process not recorded, not closed"* ]]
	# A process that was not asked for is not missing.
	run -0 --separate-stderr "$rtl" run --strict --ranks 0 -o c.db --device soft bash -c 'RTL_RANK=0 "$0" --dispatches 5 &&
		ulimit -f 16384 && RTL_RANK=1 env -u SOFTGPU_TRUTH "$0" --dispatches 5' "$demo"
	[[ ${stderr_lines[-1]} == "SIMULATED complete: 5 dispatched, 5 stored" ]]
}

@test "a bad value in a bare process is one line of the shim, and the program runs on" {
	local bad instead
	while IFS='|' read -r bad instead; do
		run -0 --separate-stderr env LD_LIBRARY_PATH="$libdir/softgpu" LD_PRELOAD="$preload" \
			ASAN_OPTIONS=detect_leaks=0 RTL_SOCKET="$work/none" "$bad" \
			"$demo" --ranks 1 --steps 2
		[ "$(grep -c '^rtl: ' <<<"$stderr")" -eq 1 ]
		[[ $stderr == *"rtl: $bad is not "*"; $instead"* ]]
	done <<'END'
RTL_MODE=bogus|recording as standard
RTL_FRONT_END=best|it is chosen as without it
RTL_RINGS=gpu|rings are made in host memory
RTL_THREAD=off|the shim makes its thread
RTL_DEBUG=yes|taken for 0
RTL_EXIT_MS=1s|50 are taken
RTL_RANK=first|the launcher's word is taken
END
}

@test "queues of a job have their rings in host memory, unless they are to be kept" {
	local show='echo "${HSA_ALLOCATE_QUEUE_DEV_MEM-} ${DEBUG_CLR_AQL_DEV_QUEUE-} ${RTL_RINGS_MOVED-}"'
	unset HSA_ALLOCATE_QUEUE_DEV_MEM DEBUG_CLR_AQL_DEV_QUEUE
	run -0 --separate-stderr "$rtl" run -qf -o a.db sh -c "$show"
	[ "$output" = " 0 clr" ]
	export HSA_ALLOCATE_QUEUE_DEV_MEM=1
	run -0 --separate-stderr "$rtl" run -qf -o a.db sh -c "$show"
	[ "$output" = " 0 hsa,clr" ]
	# One around the other: the inner one finds nothing to move, and it has been moved all the same.
	run -0 --separate-stderr "$rtl" run -qf -o a.db "$rtl" run -qf -o b.db sh -c "$show"
	[ "$output" = " 0 hsa,clr" ]
	run -0 --separate-stderr sh -c 'eval "$("$0" env)" && '"$show" "$rtl"
	[ "$output" = " 0 hsa,clr" ]
	# Where the user has it so nothing is moved.
	DEBUG_CLR_AQL_DEV_QUEUE=0 HSA_ALLOCATE_QUEUE_DEV_MEM=0 run -0 --separate-stderr "$rtl" run -qf -o a.db sh -c "$show"
	[ "$output" = " 0 " ]
	DEBUG_CLR_AQL_DEV_QUEUE=1 RTL_RINGS=keep run -0 --separate-stderr "$rtl" run -qf -o a.db sh -c "$show"
	[ "$output" = "1 1 " ]
}

@test "options of the command are its own, with and without --" {
	run -0 --separate-stderr "$rtl" run -q -o a.db echo -o x --strict -- -f
	[ "$output" = "-o x --strict -- -f" ]
	run -0 --separate-stderr "$rtl" run -q -o b.db -- echo -- -v
	[ "$output" = "-- -v" ]
}

@test "stdin, stdout, stderr and other descriptors are the command's" {
	run -0 --separate-stderr "$rtl" run -q -o a.db cat <<<"through"
	[ "$output" = through ]
	"$rtl" run -q -o b.db sh -c 'echo five >&5' 5>five
	[ "$(cat five)" = five ]
	# No collector keeps the pipe open, or this would hang.
	[ "$("$rtl" run -q -o c.db echo done 2>&1)" = done ]
}

@test "an existing output is refused, with -f replaced, and kept when nothing starts" {
	echo mine >t.db
	run -125 "$rtl" run -o t.db touch ran
	[[ $output == *t.db*-f* ]]
	[ "$(cat t.db)" = mine ]
	[ ! -e ran ]
	run -127 "$rtl" run -f -o t.db no-such-command
	[ "$(cat t.db)" = mine ]
	run -0 "$rtl" run -f -o t.db true
	[ "$(cat t.db | head -c 15)" = "SQLite format 3" ]
}

@test "a write-ahead log without its database is not replayed into the new one" {
	echo old >t.db-wal
	run -0 "$rtl" run -o t.db true
	[ "$(sql t.db 'PRAGMA integrity_check')" = ok ]
	[ ! -e t.db-wal ]
}

@test "an output through a link, over a directory or into no folder is refused" {
	ln -s elsewhere.db link.db
	run -125 "$rtl" run -f -o link.db true
	mkdir folder
	run -125 "$rtl" run -f -o folder true
	run -125 "$rtl" run -o folder/ true
	run -125 "$rtl" run -o no/such/folder/t.db true
	[[ $output == *no/such/folder/t.db* ]]
	[ ! -e elsewhere.db ]
}

@test "an output that cannot be written exits 125" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become another user"
	chmod 755 "$work" && mkdir -m 755 closed
	uid=$((100000 + RANDOM))
	run setpriv --reuid $uid --regid $uid --clear-groups \
		env XDG_RUNTIME_DIR= "$rtl" run -o closed/t.db true
	[ "$status" -eq 125 ]
	[[ $output == *closed/t.db*ermission* ]]
	# If no file was named, the job runs, and is told how.
	cd closed
	run setpriv --reuid $uid --regid $uid --clear-groups \
		env XDG_RUNTIME_DIR= "$rtl" run --private true
	rm -rf /tmp/rtl-$uid
	[ "$status" -eq 0 ]
	[[ $output == "rtl: collector: ./rtl-"*".db: cannot be written there: Permission denied; -o FILE names another place; the job runs unrecorded" ]]
}

@test "an output whose path is too long for a database: 125; without -o the job runs" {
	[ ! -S /run/rtl.sock ] || skip "this node has a service"
	local folder=$work longest too_long
	while [ ${#folder} -lt 400 ]; do folder+=/$(printf 'd%.0s' {1..80}); done
	mkdir -p "$folder/$(printf 'd%.0s' {1..120})"
	longest=$folder/$(printf "%$((504 - ${#folder} - 1))s" | tr ' ' n)
	for too_long in "${longest}n" "$(printf 'n%.0s' {1..248})"; do
		run -125 "$rtl" run -f -o "$too_long" touch ran
		[ "$output" = "rtl: $too_long: cannot be written there: File name too long" ]
	done
	[ ! -e ran ]
	run -0 --separate-stderr "$rtl" run -o "$longest" true
	[ "${stderr_lines[-1]}" = "complete: 0 dispatched, 0 stored" ]
	cd "$folder"/d*
	run -7 --separate-stderr "$rtl" run sh -c 'exit 7'
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *": cannot be written there: File name too long; "*"the job runs unrecorded" ]]
}

@test "a name of an output has the pid, host, job, rank and variables that it asks for" {
	local database
	export RTL_JOB_ID=a/b RTL_RANK=3 PLACE=$work/run
	run -0 --separate-stderr "$rtl" run -o '%q{PLACE}/100%%-%h-%p-%r-%j.db' sh -c 'echo $PPID'
	database=$(echo run/100%-"$(uname -n)-$output"-3-a_b-*.db)
	[ "$(sql "$database" 'SELECT count(*) FROM rtl_session')" -eq 1 ]
	[ "$(ls run/*.db | wc -l)" -eq 1 ]
	# Without a launcher the job is the command and its process, as in the name of the session.
	unset RTL_JOB_ID RTL_RANK
	RTL_OUTPUT='%j.db' run -0 --separate-stderr "$rtl" run sh -c 'echo $PPID'
	[ "$(sql "sh-$output.db" 'SELECT count(*) FROM rtl_session')" -eq 1 ]
}

@test "a name of an output that asks for what is unknown: 125, one line, before anything starts" {
	local says=(
		'a%x.db' '%x is unknown; known are %p %h %j %r %q{VARIABLE}, and %% for a percent sign'
		'a%' '% is unknown; known are %p %h %j %r %q{VARIABLE}, and %% for a percent sign'
		'%r.db' '%r: no launcher gave this rtl run a rank; use %p, or set RTL_RANK'
		'%q{NOWHERE}.db' '%q{NOWHERE}: this environment variable is not set'
		'%q{}.db' '%q needs the name of a variable in braces, as in %q{HOME}'
		'%q{HOME.db' '%q needs the name of a variable in braces, as in %q{HOME}'
		'%qHOME.db' '%q needs the name of a variable in braces, as in %q{HOME}'
		'%q{LONG}.db' 'the path is too long')
	export LONG=$(printf 'n%.0s' {1..5000})
	unset NOWHERE RTL_RANK RTL_JOB_ID
	set -- "${says[@]}"
	while [ $# -gt 0 ]; do
		run -125 --separate-stderr "$rtl" run -f -o "$1" touch ran
		[ "$stderr" = "rtl: $1: $2" ]
		shift 2
	done
	# Also where nothing can be recorded, and in a rank of a launch.
	rtl=$(lonely)
	RTL_JOB_ID=j RTL_RANK=1 run -125 --separate-stderr "$rtl" run -o '%x.db' touch ran
	[ "${stderr_lines[-1]}" = "rtl: %x.db: ${says[1]}" ]
	[ ! -e ran ]
	[ -z "$(find . -name '*.db')" ]
	[ -z "$(find run -name '*.sock')" ]
}

@test "rtl trace moves an existing file aside, to the first free name" {
	echo one >t.db && echo two >t.db.1 && echo log >t.db-wal
	run -0 "$rtl" trace -o t.db true
	[ "$(cat t.db.1)" = two ]
	[ "$(cat t.db.2)" = one ]
	[ "$(cat t.db.2-wal)" = log ]
	[[ $output == *"moved aside to t.db.2"* ]]
}

@test "without a shim the job runs, and one line says why" {
	rtl=$(lonely)
	run -7 --separate-stderr "$rtl" run -o a.db sh -c 'exit 7'
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *shim*unrecorded* ]]
	run -125 "$rtl" run --strict touch ran
	[ ! -e ran ]
}

@test "without a collector the job runs untouched, and one line says why" {
	rtl=$(lonely)
	cp "$libdir/librtl-shim.so" lonely/lib/
	run -7 --separate-stderr "$rtl" run -o a.db sh -c 'echo "[$HSA_TOOLS_LIB$LD_PRELOAD$RTL_SOCKET]"; exit 7'
	[ "$output" = "[]" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *collector*unrecorded* ]]
	run -125 "$rtl" run --strict -o a.db touch ran
	[ ! -e ran ]
	[ ! -e a.db ]
}

@test "a collector that dies while it starts: its own words, the job runs" {
	rtl=$(lonely)
	cp "$libdir/librtl-shim.so" lonely/lib/
	printf '#!/bin/sh\necho "collectord: out of luck" >&2\nexit 1\n' >lonely/bin/collectord
	chmod +x lonely/bin/collectord
	run -7 --separate-stderr "$rtl" run -o a.db sh -c 'exit 7'
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *"out of luck"*unrecorded* ]]
	[ -z "$(find run -name '*.sock')" ]
}

@test "a named collector that is not there is no reason to record elsewhere" {
	run -0 --separate-stderr "$rtl" run --socket "$work/none.sock" true
	[[ $stderr == *none.sock*unrecorded* ]]
	RTL_SOCKET=$work/none.sock run -0 --separate-stderr "$rtl" run true
	[ "${#stderr_lines[@]}" -eq 1 ]
	RTL_SOCKET=$work/none.sock run -125 "$rtl" run --strict true
	[ -z "$(ls ./*.db 2>/dev/null)" ]
}

@test "a foreign directory for sockets is not used" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to make a directory of another user"
	export XDG_RUNTIME_DIR=
	chmod 755 "$work" && mkdir -m 777 open
	uid=$((100000 + RANDOM))
	mkdir /tmp/rtl-$uid
	run setpriv --reuid $uid --regid $uid --clear-groups "$rtl" run -o open/t.db true
	rmdir /tmp/rtl-$uid
	[ "$status" -eq 0 ]
	[ "$output" = "rtl: collector: /tmp/rtl-$uid: not a directory of yours alone; set XDG_RUNTIME_DIR to a directory of yours; the job runs unrecorded" ]
}

@test "signals sent to rtl reach the command" {
	"$rtl" run -q -o a.db python3 -c "$waiter" 3>&- &
	pid=$!
	pids+=("$pid")
	wait_until test -e ready
	for name in TERM HUP USR1 QUIT INT XCPU ALRM ABRT RTMIN; do
		kill -"$name" "$pid"
		wait_until has_line "SIG$name" signals
	done
	kill -USR2 "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 9 ]
	[ "$(sort signals | uniq -c | awk '$1 != 1')" = "" ]
}

# bats test_tags=apart
@test "without descriptors it is said that they are missing" {
	few() { # few NUMBER COMMAND...: with so many descriptors, of which three are open
		python3 -c 'import resource, subprocess, sys
number = int(sys.argv[1])
sys.exit(subprocess.run(sys.argv[2:], preexec_fn=lambda: resource.setrlimit(
    resource.RLIMIT_NOFILE, (number, number))).returncode)' "$@"
	}
	run -7 few 8 "$rtl" run -o a.db sh -c 'exit 7'
	[[ $output == "rtl: collector: "*": Too many open files; the job runs unrecorded" ]]
	run -125 few 4 "$rtl" run -o a.db sh -c 'exit 7'
	[[ ${lines[0]} == "rtl: collector: "*": Too many open files; the job runs unrecorded" ]]
	[ "${lines[1]}" = "rtl: cannot start sh: Too many open files" ]
	# Some of these are enough for the collector and not for SQLite, which says it cannot open.
	local number of_sqlite=0
	for number in {9..24}; do
		run -7 few "$number" "$rtl" run -f -o a.db sh -c 'exit 7'
		[ "${#lines[@]}" -le 1 ] || [[ $output == *"complete: "* ]]
		[[ $output != *"Permission denied"* ]]
		[[ $output != *"a.db: Too many open files; "* ]] || of_sqlite=$((of_sqlite + 1))
	done
	[ "$of_sqlite" -gt 0 ]
}

# bats test_tags=apart
@test "rtl run that is interrupted does not wait for a silent collector, and leaves none" {
	rtl=$(lonely)
	cp "$libdir/librtl-shim.so" lonely/lib/
	mkfifo gate
	# Stopped before it has said a word; then one that fails when it is told to.
	printf '#!/bin/sh\necho $$ >%s/there\nkill -STOP $$\n' "$work" >lonely/bin/collectord
	chmod +x lonely/bin/collectord
	is_gone() { ! kill -0 "$1" 2>&-; }
	for strict in "" --strict; do
		rm -f there
		"$rtl" run $strict -f -o a.db touch ran 2>err 3>&- &
		runner=$! status=0
		pids+=("$runner")
		wait_until test -s there
		kill -TERM $runner
		wait $runner || status=$?
		[ "$status" -eq 143 ]
		[ ! -s err ]
		wait_until is_gone "$(cat there)"
	done
	printf '#!/bin/sh\ntouch %s/there\nread -r line <%s/gate\nexit 1\n' "$work" "$work" >lonely/bin/collectord
	rm -f there
	"$rtl" run --strict -f -o a.db touch ran 2>err 3>&- &
	runner=$! status=0
	pids+=("$runner")
	wait_until test -e there
	kill -TERM $runner
	echo go >gate
	wait $runner || status=$?
	[ "$status" -eq 143 ]
	[ ! -s err ]
	[ ! -e ran ]
	run -0 "${RTL_BUILD}/bin/rtl" run -q -f -o a.db true
	[ -z "$output" ]
}

# bats test_tags=apart
@test "rtl run that is interrupted while it starts leaves the file free" {
	# At each thing that can be seen of a start.
	cat >ended.py <<-'PYTHON'
		import glob, os, pathlib, signal, subprocess, sys, time
		enders = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
		for number in enders: # a shell ignores some in what it starts with "&"
		    signal.signal(number, signal.SIG_DFL)
		rtl = [sys.argv[1], "run", "-q", "-f", "-o", "a.db"]
		def is_collector_there(_):
		    return bool(collectors())
		def collectors():
		    here = os.getcwd().encode() + b"/a.db"
		    found = []
		    for path in glob.glob("/proc/[0-9]*/cmdline"):
		        try:
		            with open(path, "rb") as file:
		                words = file.read().split(b"\0")
		        except OSError:
		            continue
		        if words[0].endswith(b"collectord") and here in words:
		            found.append(path)
		    return found
		def until(what, process):
		    deadline = time.monotonic() + 300
		    while not what(process):
		        assert process.poll() is None and time.monotonic() < deadline, what.__name__
		def at_once(_):
		    return True
		def is_socket_there(_):
		    return bool(glob.glob("run/**/*.sock", recursive=True))
		def is_file_there(_):
		    return os.path.exists("a.db")
		def is_log_there(_):
		    return os.path.exists("a.db-wal")
		def has_begun(_):
		    return os.path.exists("begun")
		for what in (at_once, is_socket_there, is_collector_there, is_file_there, is_log_there, has_begun):
		    for number in enders * 2:
		        for stale in ("a.db", "a.db-wal", "begun"):
		            pathlib.Path(stale).unlink(missing_ok=True)
		        ended = subprocess.Popen([*rtl, "sh", "-c", "echo >begun; read -r never"], stdin=subprocess.PIPE)
		        until(what, ended)
		        ended.send_signal(number)
		        assert ended.wait(300) in (-number, 128 + number), (what, ended.returncode)
		        again = subprocess.run([*rtl, "true"], stderr=subprocess.PIPE)
		        assert (again.returncode, again.stderr) == (0, b""), (what, number, again)
	PYTHON
	run -0 python3 ended.py "$rtl"
	[ -z "$output" ]
}

@test "terminal: ^C reaches the command once, ^Z stops both, fg continues both" {
	run -0 python3 "$here/terminal.py" "$rtl" run -q -o a.db python3 -c "$waiter"
	echo "$output"
}

@test "terminal: where rtl run is its first process, the command hears that it is gone" {
	cat >hangup.py <<-'PYTHON'
		import os, pty, sys, time
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], sys.argv[1:])
		while not os.path.exists("ready"):
		    time.sleep(0.01)
		os.close(terminal)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PYTHON
	run -9 timeout 300 python3 hangup.py "$rtl" run -q -o a.db python3 -c '
import signal, sys
signal.signal(signal.SIGHUP, lambda number, frame: sys.exit(9))
open("ready", "w").close()
while True: signal.pause()'
}

@test "ignored signals stay ignored, blocked ones are not blocked by us" {
	run -0 --separate-stderr sh -c 'trap "" HUP; exec "$@"' sh "$rtl" run -q -o a.db grep -E '^Sig[IB]' /proc/self/status
	ours=$output
	run -0 --separate-stderr sh -c 'trap "" HUP; exec "$@"' sh grep -E '^Sig[IB]' /proc/self/status
	[ "$ours" = "$output" ]
}

@test "a parent that ignores the ends of its children takes no exit status from us" {
	run -7 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$rtl" run -q -o a.db sh -c 'exit 7'
	[ -e a.db ]
}

@test "a stderr that is not read stops no run and changes no exit status" {
	cat >unread.py <<-'PYTHON'
		import os, subprocess, sys
		reader, writer = os.pipe()
		os.close(reader)
		sys.exit(subprocess.run(sys.argv[1:], stderr=writer).returncode & 0xff)
	PYTHON
	run -7 python3 unread.py "$rtl" run -o a.db sh -c 'touch ran; exit 7'
	[ -e ran ]
	run -0 python3 unread.py "$rtl" run --socket "$work/none" sh -c 'touch ran.too'
	[ -e ran.too ]
	# The command has what it would have without us: SIGPIPE (bit 12) as ever.
	cat >lone.py <<-'PYTHON'
		import subprocess, sys
		print(subprocess.run(sys.argv[1:], capture_output=True, text=True).stdout)
	PYTHON
	run -0 --separate-stderr python3 lone.py grep SigIgn /proc/self/status
	without=$output
	[[ $without =~ [02468ace][0-9a-f]{3}$ ]]
	run -0 --separate-stderr python3 lone.py "$rtl" run -q -o b.db grep SigIgn /proc/self/status
	[ "$output" = "$without" ]
}

@test "stderr closed: what we would say goes nowhere else, and the command finds it closed" {
	load service.bash
	start_service
	run -0 sh -c 'exec "$@" 2>&-' sh "$rtl" run -v --strict --socket "$work/c.sock" --device soft \
		bash -c '[ ! -e /proc/$$/fd/2 ] && "$0" --dispatches 10' "$demo"
	run -1 grep refused collector.log
	[ "$(sql "$(service_db)" 'SELECT exit_status FROM rtl_session')" = 0 ]
	run -0 sh -c 'exec "$@" <&- 2>&-' sh "$rtl" run -q -o a.db \
		bash -c '[ ! -e /proc/$$/fd/0 ] && [ ! -e /proc/$$/fd/2 ]'
	kill -TERM "$service" && wait "$service"
	"$collectord" --socket "$work/d.sock" --db-dir "$work/other" 3>&- <&- >&- 2>&- &
	service=$!
	pids+=($service)
	wait_until listens "$work/d.sock"
	[ "$(stat -L -c %F /proc/$service/fd/[012] | sort -u)" = directory ]
}

@test "the job has rtl's variables, and keeps the user's" {
	shim=$(realpath "$libdir/librtl-shim.so")
	export HSA_TOOLS_LIB="/usr/lib/other.so '/a b'" RTL_OUTPUT=o.db
	run -0 --separate-stderr "$rtl" run -q sh -c 'echo "$HSA_TOOLS_LIB|$HSA_TOOLS_ROCPROFILER_V1_TOOLS|$RTL_OUTPUT|$LD_LIBRARY_PATH"; echo "$LD_PRELOAD"'
	[ "${lines[0]}" = "/usr/lib/other.so '/a b' $shim|1||$LD_LIBRARY_PATH" ]
	[[ :${lines[1]}: == *":${shim/librtl/rtl\/preload\/\$PLATFORM\/librtl}:"* ]]
	[ -e o.db ]
}

@test "--device soft sets the software GPU for the job only; --device real sets nothing" {
	soft=$(realpath "$libdir/softgpu")
	export LD_LIBRARY_PATH=/usr/local/lib
	run -0 --separate-stderr "$rtl" run -q --device soft -o a.db sh -c 'echo $LD_LIBRARY_PATH'
	[ "$output" = "$soft:/usr/local/lib" ]
	run -0 --separate-stderr "$rtl" run -q --device real -o b.db sh -c 'echo $LD_LIBRARY_PATH'
	[ "$output" = /usr/local/lib ]
}

@test "every process of the job knows socket and session" {
	run -0 --separate-stderr "$rtl" run -q -m lite -o a.db sh -c 'test -S "$RTL_SOCKET" && echo "$RTL_JOB_ID|$RTL_MODE"'
	[[ $output == sh-*"|lite" ]]
	RTL_JOB_ID=exp/1 run -0 --separate-stderr "$rtl" run -q -o b.db sh -c 'echo "$RTL_JOB_ID"'
	[ "$output" = exp/1 ]
}

@test "a job without kernels: complete, a hint, --strict 3" {
	run -0 --separate-stderr "$rtl" run -o a.db true
	[ "${stderr_lines[-1]}" = "complete: 0 dispatched, 0 stored" ]
	[[ $stderr == *"rtl doctor"* ]]
	run -3 "$rtl" run --strict -o b.db true
	run -1 "$rtl" run --strict -o c.db false
	run -0 --separate-stderr "$rtl" run -q -o d.db true
	[ -z "$stderr" ]
	accounted a.db
}

@test "without -o and without a service: ./rtl-<pid>.db" {
	[ ! -S /run/rtl.sock ] || skip "this node has a service"
	run -0 --separate-stderr "$rtl" run sh -c 'echo $PPID'
	[ -e "rtl-$output.db" ]
	# A name that the user did not choose never stops a job.
	export RTL_JOB_ID=j
	run -0 "$rtl" run true
	run -0 "$rtl" run true
	[ -e rtl-j.db ]
	[ -e rtl-j-2.db ]
}

is_alone() { # a.db; the collector goes after it has told rtl
	[ "$(echo a.db*)" = a.db ] && [ -z "$(find run -name '*.sock')" ]
}

@test "a private collector leaves nothing but the database" {
	run -0 "$rtl" run -o a.db true
	wait_until is_alone
	[ "$(stat -c %a run/rtl)" = 700 ]
}

@test "an unknown mode or a socket without a path is a usage error before anything starts" {
	run -125 --separate-stderr "$rtl" run -m bogus -o a.db touch ran
	[[ $stderr == *bogus* ]]
	run -125 --separate-stderr "$rtl" run --socket '' touch ran
	[ ! -e ran ]
	[ ! -e a.db ]
}
