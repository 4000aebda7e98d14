#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ranks of a job that have another uid than rtl run: root's collector records them, another user's counts them
# by their uid, and a process that is none of the job's changes nothing. Needs root, to become others.
bats_require_minimum_version 1.5.0
load lib.bash

me=65533 other=65534

as() { # as UID COMMAND...
	local uid=$1
	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}

prepare() {
	chmod 711 . && chmod 1777 truth
}

@test "root's job: ranks of other users are recorded as its own" {
	prepare
	"$rtl" run --strict -o t.db --device soft -- sh -c "
		setpriv --reuid=$other --regid=$other --clear-groups sh -c \"'$demo' --ranks 2 --steps 3; true\"
		RTL_RANK=2 setpriv --reuid=$me --regid=$me --clear-groups '$demo' --steps 3
		RTL_RANK=3 '$demo' --steps 3" >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored t.db)" ]
	[ "$(sql t.db 'SELECT rank, uid FROM rtl_process ORDER BY rank')" = "0|$other
1|$other
2|$me
3|0" ]
	accounted t.db
	[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
	# No other user may ask it anything.
	[ "$(stat -c %a run/rtl)" = 700 ]
}

@test "another user's job: a rank of yet another one is named by its uid" {
	prepare
	mkdir own
	chown $me:$me own run
	chmod 700 own run
	# It may change its uid, as sudo would.
	as $me --inh-caps=+setuid,+setgid --ambient-caps=+setuid,+setgid env HOME="$work/own" "$rtl" run -o own/t.db --device soft -- \
		sh -c "setpriv --reuid=$other '$demo' --steps 2; RTL_RANK=1 '$demo' --steps 2" >out 2>err || { cat err; false; }
	[[ "$(tail -n 1 err)" == "SIMULATED INCOMPLETE: "*", 1 process of uid $other not recorded" ]]
	[ "$(sql own/t.db 'SELECT reason, count FROM rtl_loss')" = "processes_of_uid_$other|1" ]
	[ "$(sql own/t.db 'SELECT count(*) FROM rtl_process')" -eq 1 ]
	accounted own/t.db
	run -3 --separate-stderr "$rtl" summary --strict own/t.db
	as $me --inh-caps=+setuid,+setgid --ambient-caps=+setuid,+setgid env HOME="$work/own" "$rtl" run -f -o own/t.db --device soft -- \
		setpriv --reuid=$other "$demo" --steps 2 >out 2>err
	run "$rtl" diagnose own/t.db
	[[ $output == *"MISSING"*"no process could be recorded: they have another uid than the collector"* ]]
}

@test "a process that is none of the job's is refused, and counts as no loss" {
	prepare
	mkfifo go
	"$rtl" run --strict -o t.db --device soft -- sh -c "'$demo' --steps 2; cat go" >out 2>err &
	local job=$! socket
	wait_until grep -q dispatched out
	socket=$(echo run/rtl/*.sock)
	# shellcheck disable=SC2016 # that shell expands it
	as $other env RTL_SOCKET="$work/$socket" LD_PRELOAD="$preload" LD_LIBRARY_PATH="$libdir/softgpu" \
		ASAN_OPTIONS=detect_leaks=0 "$demo" --steps 2 >out2 2>err2
	grep -q 'rtl: .*private to another user' err2
	echo >go
	wait $job
	[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_process')" -eq 1 ]
}
