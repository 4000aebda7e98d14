#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The file of a running job is cut off by another process: the verdict is not "complete", and the file that
# is there can be read.
bats_require_minimum_version 1.5.0
load lib.bash

# cut COMMAND...: a job of two halves, between which COMMAND does something to t.db and its log. A reader
# that began before them keeps their pages in the log: of what is in the database a cut takes nothing.
cut_job() {
	mkfifo begin go reader
	"$rtl" run --strict -f -o t.db --device soft -- sh -c "cat begin; '$demo' --steps 3 >out1; cat go; ${second-'$demo' --steps 3 >out2}" \
		>out 2>err &
	local job=$! status=0 reads
	wait_until test -e t.db-shm
	sqlite3 t.db <reader >/dev/null &
	reads=$!
	exec 8>reader
	echo 'BEGIN; SELECT count(*) FROM rtl_process; SELECT writefile("reads", "1");' >&8
	wait_until test -e reads
	echo >begin
	wait_until has_rows
	"$@"
	exec 8>&-
	wait $reads
	echo >go
	wait $job || status=$?
	rm begin go reader
	cat err
	[ $status -eq 3 ]
	[[ "$(tail -n 1 err)" == *"INCOMPLETE: "* ]]
	[ "$(sql t.db 'PRAGMA integrity_check')" = ok ]
	# What is read later says the same.
	run -3 --separate-stderr "$rtl" summary --strict t.db
	[ "${lines[0]}" = "$(tail -n 1 err)" ]
}

has_rows() {
	# A file that is not there yet would be made by sqlite3.
	[ -s t.db ] && [ "$(sqlite3 t.db 'SELECT count(*) FROM rtl_process WHERE drained = 1' 2>/dev/null)" -gt 0 ] 2>/dev/null
}

@test "a database whose WAL another process cuts to nothing is incomplete and readable" {
	cut_job truncate -s 0 t.db-wal
}

@test "a database whose WAL another process cuts in the middle is incomplete and readable" {
	cut_job sh -c 'truncate -s $(($(stat -c %s t.db-wal) / 2)) t.db-wal'
}

@test "a database whose WAL loses its last page is incomplete and readable" {
	cut_job truncate -s -4096 t.db-wal
}

@test "a database whose WAL is cut after the last commit is incomplete and readable" {
	second=true
	cut_job truncate -s 100 t.db-wal
}

@test "a checkpoint that a reader asks for takes nothing" {
	mkfifo go
	"$rtl" run --strict -o t.db --device soft -- sh -c "'$demo' --steps 3 >out1; cat go; '$demo' --steps 3 >out2" \
		>out 2>err &
	local job=$!
	wait_until has_rows
	sqlite3 t.db 'PRAGMA wal_checkpoint(TRUNCATE)'
	echo >go
	wait $job
	[[ "$(tail -n 1 err)" == "SIMULATED complete: "* ]]
	accounted t.db
}
