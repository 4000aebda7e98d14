#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl run -o on a network file system records on a local disk and publishes at the end; what cannot be
# stored is said before anything starts. The file system's name and room are the test's (remote_statfs.c).
bats_require_minimum_version 1.5.0
load lib.bash

prepare() {
	mkdir remote local
	unset RTL_ALLOW_NETWORK_FS
	export REMOTE=$work/remote TMPDIR=$work/local
	export LD_PRELOAD=${sanitizer:+$sanitizer:}$RTL_BUILD/tests-bin/libremote-statfs.so
}

# Nothing is left of a recording but its file.
clean() {
	[ -z "$(ls -A local)" ]
	run -0 find remote -name '*.part' -o -name '*-wal' -o -name '*-shm' -o -name '*lock'
	[ -z "$output" ]
}

has_local() { # rows, in the one recording that is under way
	[ "$(sqlite3 "$(echo "$work"/local/rtl-record-*/job.db)" 'SELECT count(*) FROM rocpd_op' 2>/dev/null)" -gt 0 ] 2>/dev/null
}

@test "the file is recorded on a local disk, and there at the end, whole" {
	prepare
	cd remote
	mkfifo go
	"$rtl" run -o job.db --device soft -- sh -c "'$demo' --ranks 2 --steps 2; cat go" >out 2>err &
	local job=$!
	wait_until has_local
	[ ! -e job.db ]
	[ -e job.db.part ]
	[ ! -s job.db.part ]
	echo >go
	wait $job
	rm go
	[ "$(told out)" = "$(stored job.db)" ]
	accounted job.db
	grep -q "^rtl: session .* in $work/remote/job.db$" err
	[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
	cd ..
	clean
	# The name that rtl chooses, too.
	(cd remote && "$rtl" run -q --device soft -- "$demo" --steps 2 >out)
	[ "$(told remote/out)" = "$(stored remote/rtl-*.db)" ]
	clean
}

@test "what is there is not overwritten, unless that is asked for; a name has one writer" {
	prepare
	echo mine >remote/job.db
	run -125 "$rtl" run -o remote/job.db --device soft -- touch started
	[ "$output" = "rtl: remote/job.db: exists; use -f to overwrite it" ]
	[ "$(cat remote/job.db)" = mine ]
	[ ! -e started ]
	"$rtl" run -q -f -o remote/job.db --device soft -- "$demo" --steps 2 >out
	[ "$(told out)" = "$(stored remote/job.db)" ]
	clean
	touch remote/other.db.part
	run -125 "$rtl" run -o remote/other.db --device soft -- touch started
	[[ $output == "rtl: remote/other.db.part: another rtl run records for this file, or has died; use -f to overwrite it" ]]
	[ ! -e started ]
	"$rtl" run -q -f -o remote/other.db --device soft -- "$demo" --steps 2 >out
	[ "$(told out)" = "$(stored remote/other.db)" ]
	clean
}

@test "ranks of one launch share the file, and one that comes when it is published goes on with it" {
	prepare
	export OMPI_COMM_WORLD_SIZE=3 RTL_JOB_ID=launch
	local rank
	for rank in 0 1 2; do
		# The last alone, later.
		[ $rank -lt 2 ] || wait
		RTL_RANK=$rank "$rtl" run -q -o remote/job.db --device soft -- "$demo" --steps 2 >out$rank 2>err$rank &
	done
	wait
	[ "$(cat out? | told /dev/stdin | wc -l)" -eq 3 ]
	[ "$(sql remote/job.db 'SELECT count(DISTINCT rank) FROM rtl_process')" -eq 3 ]
	[ "$(cat out? | sed -n 's/.*kernels=//p' | awk '{ n += $1 } END { print n }')" -eq \
		"$(sql remote/job.db 'SELECT count(*) FROM rocpd_op')" ]
	accounted remote/job.db
	clean
}

@test "where it cannot be published it stays, and its place is named" {
	prepare
	run -3 --separate-stderr "$rtl" run --strict -o remote/job.db --device soft -- \
		sh -c "'$demo' --steps 2 >out; rm -r remote"
	[[ $stderr == *"rtl: $work/remote/job.db: No such file or directory; the record stays in $work/local/rtl-record-"* ]]
	[ "$(told out)" = "$(stored "$(echo local/rtl-record-*/job.db)")" ]
	# The job's own status is first.
	mkdir remote
	run -7 "$rtl" run --strict -o remote/job.db --device soft -- sh -c "rm -r remote; exit 7"
}

@test "no local disk for it, or none with room: nothing is started for a file that was asked for" {
	prepare
	REMOTE=/ run -125 --separate-stderr "$rtl" run -o remote/job.db --device soft -- touch started
	[ "$stderr" = "rtl: remote/job.db lies on a network file system, and no local disk takes the record meanwhile: No space left on device; set TMPDIR to one that does" ]
	FULL=/ run -125 --separate-stderr "$rtl" run -o remote/job.db --device soft -- touch started
	FULL=/ run -125 --separate-stderr "$rtl" run -o local/job.db --device soft -- touch started
	[ "$stderr" = "rtl: local/job.db: less than 16 MiB are free on its disk, and nothing is stored below that" ]
	# Nor anything removed.
	echo mine >local/job.db
	FULL=/ run -125 "$rtl" run -f -o local/job.db --device soft -- touch started
	[ "$(cat local/job.db)" = mine ]
	rm local/job.db
	[ ! -e started ]
	clean
	# A file that rtl chose is no reason for a job not to run.
	REMOTE='' FULL=/ run -7 --separate-stderr "$rtl" run --device soft -- sh -c 'echo "$@" >&2; exit 7' sh runs
	[[ ${stderr_lines[0]} == "rtl: ./rtl-"*".db: less than 16 MiB are free on its disk, and nothing is stored below that; as long as that is so the job runs unrecorded" ]]
	[ "${stderr_lines[1]}" = runs ]
}
