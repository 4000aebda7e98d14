#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every question in every format, of every kind of file: formats.py says what has to hold.
load lib.bash
bats_require_minimum_version 1.5.0

schema=$here/../../collectord/db/schema

fixture() { # fixture SCRIPT KIND FILE
	python3 "$here/$1.py" "$2" "$schema" "$3"
}

answers() { # answers FILE EXPECTATION...
	python3 "$here/formats.py" "$rtl" "$@"
}

@test "every format answers every question of complete files" {
	fixture fixture clean clean.db
	fixture fixture_ranks overlap overlap.db
	answers clean.db
	answers overlap.db
	[ -n "$RTL_TEST_LONG" ] || return 0
	fixture fixture shared shared.db
	fixture fixture uneven uneven.db
	answers shared.db
	answers uneven.db
}

# bats test_tags=apart
@test "every format answers for files without kernels, with one kernel, without processes" {
	fixture fixture_ranks none none.db
	fixture fixture_ranks one one.db
	fixture fixture_ranks none empty.db
	sqlite3 empty.db "DELETE FROM rtl_process; DELETE FROM rtl_queue; DELETE FROM rtl_clock_check"
	answers none.db empty
	answers empty.db empty
	answers one.db
}

# bats test_tags=apart
@test "every format answers for a job of a thousand ranks" {
	fixture fixture_ranks many many.db
	# As many counters of each process and queue as there are: to be read once, not once a process.
	sqlite3 many.db "INSERT INTO rtl_counter_base SELECT p.id, q.value, 'counter_' || n.value, n.value
		FROM rtl_process p, generate_series(-1, 1) q, generate_series(1, 60) n"
	timeout 100 "$rtl" info --json many.db |
		jq -e '.counters | length == 1000 and all(.balanced and .counters.counter_7 == 21)'
	[ -n "$RTL_TEST_LONG" ] || { rm many.db; fixture fixture_ranks hundred many.db; }
	answers many.db
}

# bats test_tags=apart
@test "every format keeps its form with hostile names and names of more than 4 KiB" {
	fixture fixture hostile hostile.db
	fixture fixture_ranks names ranks.db
	fixture fixture_tree names tree.db
	answers hostile.db hostile
	answers ranks.db hostile
	answers tree.db hostile
}

# bats test_tags=apart
@test "every format answers for incomplete, live and hung jobs" {
	fixture fixture lossy lossy.db
	fixture fixture live live.db
	fixture fixture hung hung.db
	for file in lossy live hung; do
		answers $file.db lossy
	done
}

# bats test_tags=apart
@test "every format answers for files of older versions" {
	fixture fixture_ranks late late.db
	for version in ${RTL_TEST_LONG:+2 3 5 6 7} 1 4 8; do
		python3 "$here/fixture_older.py" late.db "$schema" $version v$version.db
		[ "$(sql v$version.db 'PRAGMA user_version')" -eq $version ]
		answers v$version.db
	done
}

@test "every format answers for a run on the software GPU" {
	$rtl run -q -o t.db --mode full --device soft -- "$demo" --ranks 2 --steps 3
	answers t.db
}

@test "every verb refuses a damaged, foreign, merged or missing database" {
	fixture fixture clean clean.db
	head -c 50000 clean.db >half.db
	sqlite3 foreign.db 'CREATE TABLE t (a)'
	# As the predecessor's merge leaves it.
	sqlite3 merged.db "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT UNIQUE);
		CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, completionSignal, start, end,
			description_id, opType_id, roctxId);
		CREATE TABLE rocpd_metadata (tag, value); INSERT INTO rocpd_string VALUES (1, 'gemm');
		INSERT INTO rocpd_op VALUES (1, 0, 0, 0, '', 1000, 2000, 1, 1, 0)"
	for file in half foreign merged missing; do
		answers $file.db refused
	done
	run -1 --separate-stderr "$rtl" timeline merged.db
	[ "$stderr" = "rtl: merged.db: a rocpd database of another tool, not an rtl database; rtl reads what rtl run records" ]
}
