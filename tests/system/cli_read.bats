#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What rtl says about session databases, on files made without a collector.
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [FILE]
	python3 "$here/fixture.py" "$1" "$here/../../collectord/db/schema" "${2:-$1.db}"
}

# run with stdout and stderr apart: $output and $err
apart() {
	run bash -c '"$@" 2>err' bash "$@"
	err=$(cat err)
}

one_line() { # the text is one line
	[ -n "$1" ] && [ "$(wc -l <<<"$1")" -eq 1 ]
}

valid_json() {
	python3 -m json.tool >/dev/null <<<"$1"
}

no_control_bytes() { # of a text with several lines
	LC_ALL=C not grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<<"$1"
}

@test "rtl without a verb exits 2 with its usage; --help and --version exit 0" {
	apart "$rtl"
	[ "$status" -eq 2 ]
	[[ $output == usage:* ]]
	apart "$rtl" --help
	[ "$status" -eq 0 ]
	[[ $output == *"rtl summary"* ]]
	apart "$rtl" --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^rtl\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	run -0 "$rtl" --help
	[[ $output == *"rtl ctl start|stop|status"* ]]
	[ -z "$(grep ' $' <<<"$output")" ]
	# Every view that the page describes.
	run -0 "$rtl" query --help
	for view in $(grep -o '^\*\*`[a-z_]*`' "$here/../../docs/schema.md" | tr -d '*`'); do
		grep -qw "$view" <<<"$output"
	done
	for verb in run trace stat ls summary info collectives tree export diagnose query env doctor ctl; do
		apart "$rtl" $verb --help
		[ "$status" -eq 0 ]
		[[ $output == "Usage: rtl $verb"* ]]
		[ -z "$err" ]
		whole=$output
		apart "$rtl" help $verb
		[ "$status" -eq 0 ]
		[ "$output" = "$whole" ]
		[ -z "$err" ]
	done
	apart "$rtl" --help
	whole=$output
	for words in help "help help" -h; do
		apart "$rtl" $words
		[ "$status" -eq 0 ]
		[ "$output" = "$whole" ]
	done
	apart "$rtl" help sumary
	[ "$status" -eq 2 ]
	[ "$err" = "rtl: unknown verb sumary; did you mean summary?" ]
	apart "$rtl" help run trace
	[ "$status" -eq 2 ]
	one_line "$err"
}

@test "a mistake is one line with a suggestion and status 2" {
	fixture clean
	apart "$rtl" sumary clean.db
	[ "$status" -eq 2 ]
	[ "$err" = "rtl: unknown verb sumary; did you mean summary?" ]
	apart "$rtl" list
	[ "$status" -eq 2 ]
	[ "$err" = "rtl: unknown verb list; did you mean ls?" ]
	apart "$rtl" ./clean.db
	[ "$status" -eq 2 ]
	[ "$err" = "rtl: ./clean.db is a database, not a verb; did you mean rtl summary ./clean.db?" ]
	for words in "--verson:did you mean --version?" "--hlep:did you mean --help?" "--json:see rtl --help" "-x:see rtl --help"; do
		apart "$rtl" "${words%%:*}"
		[ "$status" -eq 2 ]
		[ "$err" = "rtl: unknown option ${words%%:*}; ${words#*:}" ]
		[ -z "$output" ]
	done
	apart "$rtl" summary --strickt clean.db
	[ "$status" -eq 2 ]
	[ "$err" = "rtl: summary: unknown option --strickt; did you mean --strict?" ]
	for words in "summary -x clean.db" "summary clean.db lossy.db" "query clean.db lossy.db x" "query -f none.sql clean.db" "query --file" \
		"stat -n 0" "stat -n x" "stat -i -1" "stat -i" "stat --socket=" "ls --socket=" "ctl status --socket=" "ctl" "ctl restart" "ls extra" "summary --csv=x clean.db" \
		"summary --json --csv clean.db" "diff --csv --json clean.db clean.db" "ls --json --csv" \
		"info --clocks --json --csv clean.db" "info --csv clean.db" "info --counters --clocks clean.db"; do
		apart "$rtl" $words
		[ "$status" -eq 2 ]
		one_line "$err"
		[ -z "$output" ]
	done
}

@test "a complete session is complete" {
	fixture clean
	apart "$rtl" summary --strict clean.db
	[ "$status" -eq 0 ]
	[ -z "$err" ]
	[ "${lines[0]}" = "SIMULATED complete: 2000 dispatched, 2000 stored" ]
	[[ $output == *"TOP KERNELS (SIMULATED)"*gemm_f16*"RANKS (SIMULATED)"* ]]
	[[ $output != *LOSSES* ]]
}

@test "a process that exits with a status above 128 was not killed" {
	fixture clean
	# As sys.exit(-1) and MPI_Abort() do; a shell says 137 of a child that was killed.
	sqlite3 clean.db "UPDATE rtl_process SET exit_status = iif(id = 1, 255, 137);
		UPDATE rtl_process SET ended = 'killed' WHERE id = 2"
	for verb in summary diagnose; do
		run -0 "$rtl" $verb --csv=$([ $verb = summary ] && echo ranks || echo processes) clean.db
		[[ ${lines[1]} == *'"exited 255"'* && ${lines[2]} == *'"killed by 9"'* ]]
	done
}

@test "a lossy session says what, where and why" {
	fixture lossy
	apart "$rtl" summary lossy.db
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "SIMULATED INCOMPLETE: 2030 dispatched, 2001 stored, 27 dropped (quota 2, recorder_full 25), 1 untimed (timestamp_invalid 1), 1 outstanding, 1 skipped (coop 1)" ]
	grep -Eq 'killed by 9' <<<"$output"
	grep -Eq '^ *- +- +40003 +0 .*initialised HSA, dispatched nothing' <<<"$output"
	grep -Eq '^dropped_recorder_full +25 +1 +2$' <<<"$output"
	apart "$rtl" summary --strict lossy.db
	[ "$status" -eq 3 ]
	one_line "$err"
	apart "$rtl" summary --json lossy.db
	[ "$(jq -c '[.schema,.complete,.dispatched,.stored,.dropped,.untimed,.outstanding,.skipped,.simulated]' <<<"$output")" = \
		"[1,false,2030,2001,27,1,1,1,true]" ]
	[ "$(jq -r '.ranks[] | select(.dispatched == 0) | .note' <<<"$output")" = "initialised HSA, dispatched nothing (no queue)" ]
}

@test "an open session is never complete" {
	fixture live
	apart "$rtl" summary --strict live.db
	[ "$status" -eq 3 ]
	[[ ${lines[0]} == "SIMULATED INCOMPLETE: "* ]]
	apart "$rtl" summary --json live.db
	[ "$(jq -c '[.live,.complete]' <<<"$output")" = "[true,false]" ]
}

@test "times that were not measured are - and null, never 0" {
	fixture clean
	sqlite3 clean.db "UPDATE rtl_dispatch SET untimed = 5, start = NULL, duration = NULL
		WHERE shape_id IN (SELECT id FROM rtl_shape WHERE process_id = 2)"
	run -0 "$rtl" summary clean.db
	grep -Eq '^ +1 +1 +40002 +1,000 +- +- +- ' <<<"$output"
	"$rtl" summary --json clean.db | jq -e '.ranks[1] | [.busy_ns, .busy_pct, .mean_ns] == [null, null, null]'
	run -0 "$rtl" summary --by rank clean.db
	grep -Eq '^1,000( +-){8} +rank 1$' <<<"$output"
	"$rtl" summary --by rank --json clean.db | jq -e '.groups[] | select(.rank == 1) | [.total_ns, .pct] == [null, null]'
	# Copies that were asked for and not timed took time, and how much is unknown.
	sqlite3 clean.db "INSERT INTO rtl_copy_base (process_id, number, tid, submit_ns, bytes, how, direction)
		VALUES (1, 1, 7, 5000000000, 4096, 'async', 'h2d')"
	"$rtl" summary --json clean.db | jq -e '.reason.all | [.exposed_memcpy_pct, .total_memcpy_pct] == [null, null]'
	"$rtl" summary --json clean.db | jq -e '.copies[0] | [.total_ns, .avg_ns, .gb_per_s] == [null, null, null]'
	"$rtl" timeline --json --by kind clean.db | jq -e '[.total, .ranks[0], .rows[0] | .exposed_memcpy_time_ns,
		.total_memcpy_time_ns, .per_stream_ms.copy, .utilization.copy] + [.kinds[].exposed_memcpy_time_ns] | unique == [null]'
	[ "$("$rtl" timeline --csv clean.db | python3 -c 'import csv, sys
print({row[k] for row in csv.DictReader(sys.stdin) for k in ("exposed_memcpy_time_ns", "total_memcpy_time_ns", "copy_ns")})')" = "{''}" ]
}

@test "a choice that leaves nothing is said, with status 1 and no empty answer" {
	python3 "$here/fixture_ranks.py" late "$here/../../collectord/db/schema" late.db
	for words in "timeline --ranks 9" "timeline --gpus 9" "timeline --step 99" "timeline --ranks 1 --gpus 2 --json" \
		"tree --ranks 7-9" "tree --ranks 7 --json" "collectives --ranks 9" "collectives --operation Gather --json" \
		"export --csv out --ranks 9" "export --csv out --gpus 9" "export --csv out --from 1000" "summary --ranks 9"; do
		# shellcheck disable=SC2086 # words
		apart "$rtl" $words late.db
		[ "$status" -eq 1 ]
		one_line "$err"
		[[ $err == "rtl: n"*" of "* || $err == "rtl: late.db: no rank"* ]]
		[ -z "$output" ]
		[ ! -e out ]
	done
	# So is a list of which only a part is there.
	for words in "summary -r 0,9" "timeline -r 9,0" "tree -r 0,9" "collectives -r 0,9 --json" "export --csv out -r 0,9" \
		"whatif --rank 9:rank" "whatif --host 9:host"; do
		# shellcheck disable=SC2086 # words
		apart "$rtl" ${words%:*} late.db
		[ "$status" -eq 1 ]
		option=${words#*:}
		[ "$option" != "$words" ] || option=ranks
		[ "$err" = "rtl: late.db: no rank 9, it has ranks 0-3; choose from these, or leave out --$option" ]
		[ -z "$output" ]
	done
	apart "$rtl" summary -r 2-5,8 late.db
	[[ $err == "rtl: late.db: no ranks 4-5,8, it has ranks 0-3; "* ]]
	cp late.db none.db
	sqlite3 none.db "UPDATE rtl_process SET rank = NULL"
	apart "$rtl" timeline -r 0 none.db
	[ "$err" = "rtl: none.db: no rank 0, its processes have none; leave out --ranks" ]
	for words in "timeline --ranks 1 --gpus 1" "tree --ranks 1" "collectives --ranks 2" "collectives --operation Reduce" \
		"export -f --csv out --ranks 1 --gpus 1" "export -f --csv out --from 0" "summary --ranks 2"; do
		# shellcheck disable=SC2086 # words
		apart "$rtl" $words late.db
		[ "$status" -eq 0 ]
	done
}

@test "summary agrees with the views" {
	for kind in clean lossy shared; do
		fixture $kind
		apart "$rtl" summary --json $kind.db
		[ "$(jq -r '.gpus[] | "\(.gpuId)|\(.ops)|\(.busy_ns)|\(.wall_ns)"' <<<"$output")" = \
			"$(sql $kind.db 'SELECT gpuId, ops, busy_ns, wall_ns FROM busy')" ] || {
			# ops of the view are the timed ones
			[ $kind = lossy ]
			[ "$(jq -r '.gpus[] | "\(.gpuId)|\(.busy_ns)|\(.wall_ns)"' <<<"$output")" = \
				"$(sql $kind.db 'SELECT gpuId, busy_ns, wall_ns FROM busy')" ]
		}
		[ "$(jq -r '.kernels[] | "\(.name)|\(.calls)|\(.total_ns)|\(.min_ns)|\(.max_ns)"' <<<"$output")" = \
			"$(sql $kind.db 'SELECT Name, Calls, TotalNs, MinNs, MaxNs FROM top')" ]
	done
}

@test "hostile names reach no terminal, formula or JSON unescaped" {
	fixture hostile
	for words in "summary hostile.db" "summary --csv hostile.db" "info hostile.db" "info --counters hostile.db"; do
		apart "$rtl" $words
		[ "$status" -eq 0 ]
		no_control_bytes "$output"
	done
	apart "$rtl" query hostile.db "SELECT string FROM rocpd_string"
	[ "$status" -eq 0 ]
	no_control_bytes "$output"
	apart "$rtl" query --csv hostile.db "SELECT string FROM rocpd_string WHERE string GLOB '=*'"
	[ "${lines[1]}" = "\"'=cmd|'/C calc'!A0\"" ]
	for words in "summary --json" "info --json"; do
		apart "$rtl" $words hostile.db
		[ "$status" -eq 0 ]
		valid_json "$output"
		no_control_bytes "$output"
	done
	apart "$rtl" query --json hostile.db "SELECT * FROM top"
	valid_json "$output"
	[ "$(jq '.rows | length' <<<"$output")" -eq 7 ]
	apart "$rtl" summary "$(printf 'no\033[31msuch')"
	[ "$status" -eq 1 ]
	[[ $err == *'no\x1b[31msuch'* ]]
}

@test "whatever a database holds, no output steers a terminal, and JSON is valid" {
	fixture lossy
	fixture hung
	# Only a collector writes these; but a file may come from another program, or be damaged.
	python3 - <<-'END'
		import sqlite3
		texts = ("lossy", "rtl_loss", "reason"), ("lossy", "rtl_counter_base", "name"), \
		    ("hung", "rtl_process", "ended"), ("hung", "rocpd_string", "string")
		for name, table, column in texts:
		    db = sqlite3.connect(name + ".db")
		    db.execute(f"UPDATE {table} SET {column} = CAST(CAST({column} AS BLOB) || ? AS TEXT)",
		               (b"\x1b[31m\xff\xc2\x9b\x7f",))
		    db.commit()
	END
	for file in lossy.db hung.db; do
		for verb in summary timeline collectives tree diagnose info outstanding "info --counters"; do
			apart "$rtl" $verb $file
			[ "$status" -eq 0 ]
			no_control_bytes "$output"
			[ "$verb" != "info --counters" ] || continue
			apart "$rtl" $verb --json $file
			[ "$status" -eq 0 ]
			valid_json "$output"
		done
	done
}

@test "summary --csv is read back by Python's csv module, names whole" {
	fixture hostile
	"$rtl" summary --csv hostile.db >k.csv
	python3 - <<-'END'
		import csv
		rows = list(csv.DictReader(open("k.csv", newline="")))
		assert len(rows) == 7, rows
		assert all(int(r["calls"]) > 0 and int(r["total_ns"]) > 0 for r in rows)
		assert any(r["name"] == 'quote",comma' for r in rows)
		assert not any(v.startswith(("=", "+", "@")) for r in rows for v in r.values())
	END
	for table in kernels ranks gpus losses; do
		"$rtl" summary --csv=$table hostile.db | python3 -c 'import csv, sys; assert len({len(r) for r in csv.reader(sys.stdin)}) == 1'
	done
}

@test "a file that is no rtl database is refused with one line and status 1" {
	fixture clean
	mkdir dir
	mkfifo fifo
	: >empty
	echo "hello, world; this is a text" >text
	sqlite3 foreign.db 'CREATE TABLE t (a); INSERT INTO t VALUES (1)'
	sqlite3 rocpd.db 'CREATE TABLE rocpd_string (id, string); CREATE TABLE rocpd_op (id, gpuId, start, end)'
	cp clean.db newer.db
	sqlite3 newer.db 'PRAGMA user_version = 99'
	head -c 50 clean.db >stump
	head -c 9000 clean.db >half
	for name in dir fifo empty text foreign.db newer.db stump half missing missing/file nosuchsession; do
		for words in "summary $name" "summary --json $name" "info $name"; do
			apart "$rtl" $words
			[ "$status" -eq 1 ]
			[ -z "$output" ]
			one_line "$err"
			[[ $err == "rtl: $name: "* ]]
		done
		apart "$rtl" query $name "SELECT 1"
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		one_line "$err"
	done
	[ ! -e empty-wal ]
	[ ! -e empty-shm ]
	[ ! -s empty ]
}

@test "a database with an interrupted change is refused, with a line that says so" {
	fixture clean
	cp clean.db whole.db
	python3 - <<-'END'
		import os, sqlite3
		db = sqlite3.connect("clean.db", isolation_level=None)
		db.execute("PRAGMA cache_size = 1")
		db.execute("BEGIN")
		db.execute("UPDATE rtl_dispatch SET duration = 1")
		os._exit(0)
	END
	[ -s clean.db-journal ]
	for words in "summary clean.db" "report clean.db --html -"; do
		apart "$rtl" $words
		[ "$status" -eq 1 ]
		[ "$err" = "rtl: clean.db: a change of it was interrupted (-journal); open it once with sqlite3 as a user with write access to roll that back" ]
	done
	# Nor is it half of that change where nothing can be written.
	cp "$rtl" rtl
	chmod 644 clean.db clean.db-journal
	chmod 555 "$work"
	run as_nobody env RTL_SOCKET="$work/none" ./rtl query clean.db 'SELECT min(duration) FROM rtl_dispatch'
	chmod 755 "$work"
	[ "$status" -eq 1 ]
	[[ $output == "rtl: clean.db: a change of it was interrupted (-journal)"* ]]
	sqlite3 clean.db 'SELECT * FROM rtl_meta' >/dev/null
	apart "$rtl" summary --strict clean.db
	[ "$status" -eq 0 ]
	"$rtl" query --csv clean.db 'SELECT * FROM rtl_dispatch' >clean.csv
	"$rtl" query --csv whole.db 'SELECT * FROM rtl_dispatch' >whole.csv
	cmp clean.csv whole.csv
}

as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

@test "read-only files in a read-only folder are read, unreadable ones get one line" {
	fixture clean
	fixture live
	chmod 444 clean.db live.db
	cp clean.db secret.db
	chmod 000 secret.db
	cp "$rtl" rtl
	chmod 755 rtl
	chmod 555 "$work"
	for name in clean live; do
		run as_nobody env RTL_SOCKET="$work/none" ./rtl query --csv $name.db 'SELECT count(*) FROM rocpd_op'
		echo "$output"
		[ "$status" -eq 0 ]
		[[ $output == *2000* ]]
	done
	run as_nobody ./rtl summary secret.db
	chmod 755 "$work"
	[ "$status" -eq 1 ]
	[ "$output" = "rtl: secret.db: Permission denied" ]
}

odd() { # odd FIXTURE STATEMENT QUESTION...: of the file so damaged there is an answer, or one line of why not
	local what
	cp "$1.db" odd.db
	sqlite3 odd.db "$2"
	for what in "${@:3}"; do
		# shellcheck disable=SC2086 # words
		apart timeout 300 "$rtl" $what odd.db
		[[ ($status -eq 0 && -z $err) || ($status -eq 1 && $err == "rtl: "*) ]] || {
			echo "$2: $what: $status, $err"
			return 1
		}
		[ -z "$err" ] || one_line "$err"
	done
}

# bats test_tags=apart
@test "extreme numbers in a database give wrong figures, but no crash" {
	local kind high=9223372036854775807 low="-9223372036854775807 - 1"
	for kind in clean lossy hung uneven; do
		fixture $kind
	done
	python3 "$here/fixture_ranks.py" nodes "$here/../../collectord/db/schema" nodes.db
	odd hung "UPDATE rtl_queue SET last_end_ns = $low" outstanding "outstanding --json"
	odd hung "UPDATE rtl_outstanding SET submit_ns = $low" outstanding "outstanding --json"
	odd hung "UPDATE rtl_session SET start_realtime_ns = $high" outstanding
	odd lossy "UPDATE rtl_counter_base SET value = $high" "info --json" "info --counters"
	odd lossy "UPDATE rtl_queue SET skipped = 1e300, outstanding = -9" "info --json" "info --counters"
	odd uneven "UPDATE rtl_process SET rank = $high WHERE rank = 6" diagnose
	odd clean "UPDATE rtl_dispatch SET duration = $high - 9 WHERE rowid <= 3" "diff --json clean.db"
	odd nodes "UPDATE rtl_clock_check SET error_max_ns = $high" collectives "collectives --json"
}

@test "query takes its SQL from a file, from stdin, or for the newest database; without any it lists the views" {
	fixture clean
	echo "SELECT count(*) AS n FROM rocpd_op" >count.sql
	[ "$("$rtl" query --csv -f count.sql clean.db 2>/dev/null)" = $'n\n2000' ]
	[ "$("$rtl" query --csv -f - clean.db <count.sql 2>/dev/null)" = $'n\n2000' ]
	[ "$("$rtl" query --csv "$(cat count.sql)" 2>/dev/null)" = $'n\n2000' ]
	apart "$rtl" query --csv -f count.sql
	[ "$output" = $'n\n2000' ]
	[[ $err == *"clean.db: the newest database"* ]]
	: >empty.sql
	apart "$rtl" query -f empty.sql clean.db
	[ "$status" -eq 2 ]
	one_line "$err"
	apart "$rtl" query --csv clean.db
	[ "$status" -eq 0 ]
	[ -z "$err" ]
	diff <(printf '%s\n' "${lines[@]}" | tail -n +2 | cut -d, -f1 | sort) \
		<(sql clean.db "SELECT 'rtl_wait' AS name UNION ALL SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE '%\_base' ESCAPE '\'
			AND name NOT IN ('rtl_shape', 'rtl_dispatch', 'rtl_queue', 'rtl_untimed_reason', 'rtl_captured')" | sort)
	[[ $output == *"busy,\"gpuId, utilization_pct, ops, busy_ns, wall_ns\""* ]]
}

@test "query reads and nothing else" {
	fixture clean
	before=$(sha256sum clean.db)
	apart "$rtl" query --csv clean.db 'SELECT gpuId, count(*) AS n FROM rocpd_op GROUP BY gpuId'
	[ "$output" = $'gpuId,n\n0,1000\n1,1000' ]
	[ "$err" = "rtl: SIMULATED: these figures are of a software GPU" ]
	apart "$rtl" query --json clean.db 'SELECT 1 AS a, NULL AS b, 1.5 AS c, 1 AS a'
	[ "$(jq -c '[.schema,.simulated,.rows]' <<<"$output")" = '[1,true,[{"a":1,"b":null,"c":1.5,"a:2":1}]]' ]
	for statement in "DELETE FROM rtl_meta" "ATTACH 'x.db' AS x" "VACUUM INTO 'x.db'" "PRAGMA user_version = 3" \
		"DELETE FROM rtl_wait" "SELECT load_extension('x')" "SELECT 1; DROP VIEW top" "nonsense" "" "SELECT * FROM nowhere"; do
		apart "$rtl" query clean.db "$statement"
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		one_line "$err"
	done
	[ "$before" = "$(sha256sum clean.db)" ]
	[ ! -e x.db ]
	# An error in the middle still leaves valid JSON.
	apart "$rtl" query --json clean.db "SELECT CASE WHEN rowid > 5 THEN abs(-9223372036854775808) ELSE rowid END AS n FROM rtl_dispatch"
	[ "$status" -eq 1 ]
	valid_json "$output"
	[ "$(jq .ok <<<"$output")" = false ]
}

@test "info prints the predecessor's block of a single process, and its check" {
	fixture clean
	sqlite3 clean.db "DELETE FROM rtl_process WHERE id <> 1"
	apart "$rtl" info --counters clean.db
	[ "$status" -eq 0 ]
	[[ $output == *"=== rtl diagnostic (PID 40001) ==="*"drop (sig pool):     0"*"recorded OK:         1000"* ]]
	[[ $output == *"990 + 10 = 1000 + 0 + 0: OK"* ]]
}

@test "info shows counters of several processes side by side where they differ, and once where they are equal" {
	fixture lossy
	apart "$rtl" info --counters lossy.db
	[ "$status" -eq 0 ]
	[[ $output == *"=== rtl diagnostic (PID 40001) ==="*"recorded OK:         1000"*"992 + 10 = 1000 + 1 + 1: OK"* ]]
	output=$(sed -n '/^=== rtl diagnostic (3 processes) ===$/,$p' <<<"$output")
	[ -n "$output" ]
	grep -Eq '^  rank: +0 +1 +-$' <<<"$output"
	grep -Eq '^  PID: +40001 +40002 +40003$' <<<"$output"
	grep -Eq '^  signals injected: +990 +992 +0$' <<<"$output"
	grep -Eq '^  dropped_recorder_full +0 +25 +0$' <<<"$output"
	grep -Eq '^  check: +OK +OK +OK$' <<<"$output"
	grep -q ': OK in 3 of 3 processes$' <<<"$output"
	sed '1,/the same in all processes/d' <<<"$output" >alike
	grep -Eq '^  drop \(sig pool\): +0$' alike
	not grep -q 'signals injected\|recorder_full' alike
	# Each counter has one row.
	[ -z "$(grep '^  [a-z]' <<<"$output" | grep -v '^  check' | sed 's/  *-*[0-9].*//' | sort | uniq -d)" ]
	# Where three processes have no room, each counter has a row in two panels of the terminal's width.
	script -qec "stty cols 38; exec $rtl info --counters lossy.db" /dev/null </dev/null | tr -d '\r' >shown
	sed -n '/^=== rtl diagnostic (3 /,/^  check: signals/p' shown >matrix
	awk 'length > 38 { print; bad = 1 } END { exit bad }' matrix
	[ "$(grep -c '^  rank: ' matrix)" -eq 2 ]
	grep -Eq '^  signals injected: +990 +992$' matrix
	grep -Eq '^  signals injected: +0$' matrix
	sqlite3 lossy.db "UPDATE rtl_counter_base SET value = value + 1 WHERE name = 'signals_injected' AND process_id = 1"
	apart "$rtl" info --counters lossy.db
	grep -Eq '^  check: +DIFFERS +OK +OK$' <<<"$output"
	grep -q ': OK in 2 of 3 processes$' <<<"$output"
	grep -qx '  rank 0, PID 40001: 991 + 10 != 1000 + 0 + 0: DIFFERS' <<<"$output"
	apart "$rtl" info --json lossy.db
	[ "$(jq -c '[.counters[] | .balanced]' <<<"$output")" = "[false,true,true]" ]
	[ "$(jq -c '[.gpus[] | .gfx]' <<<"$output")" = '["gfx90a","gfx90a"]' ]
}

@test "info shows the user of a session by name, and the number where this machine has no name for it" {
	local uid name
	fixture clean
	name=$(id -un)
	for uid in "$(id -u)" 4123456789 -1; do
		[ "$uid" = "$(id -u)" ] || name=$uid
		not getent passwd 4123456789 >out
		sqlite3 clean.db "UPDATE rtl_session SET uid = $uid"
		"$rtl" info clean.db | grep -A 1 '^NAME *JOB *USER ' | awk -v name="$name" 'END { exit $3 != name }'
		[ "$("$rtl" info --json clean.db | jq '.sessions[0].uid')" = "$uid" ]
	done
}

@test "diagnose names the rank that did not do like the others" {
	fixture clean
	apart "$rtl" diagnose --strict clean.db
	[ "$status" -eq 0 ]
	[[ $output == $'SIMULATED complete: 2000 dispatched, 2000 stored\n'*$'\nall ranks did alike: kernels and work within 5 %' ]]
	# Every process, above it.
	grep -Eq '^ *0 +40001 +1,000 +0 .* 0 +exited 0 ' <<<"$output"
	fixture uneven
	apart "$rtl" diagnose --json uneven.db
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.schema, [.findings[] | [.level, .rank, .kernels]]]' <<<"$output")" = \
		'[1,[["LOW",1,400],["NOTE",2,700],["MISSING",6,0],["NOTE",3,1000],["MISSING",null,null]]]' ]
	[[ $(jq -r '.findings[-1].text' <<<"$output") == "2 ranks from 4 on never said hello"* ]]
	[[ $(jq -r '.findings[3].text' <<<"$output") == "straggler?"*"80 %"* ]]
	# The same in every format.
	"$rtl" diagnose --json uneven.db >uneven.json
	"$rtl" diagnose --csv uneven.db >findings.csv
	"$rtl" diagnose --csv=processes uneven.db >processes.csv
	python3 - uneven.json findings.csv processes.csv <<-'PY'
	import csv, json, sys
	d = json.load(open(sys.argv[1]))
	text = lambda v: "" if v is None else "1" if v is True else "0" if v is False else str(v)
	for key, path in (("findings", sys.argv[2]), ("processes", sys.argv[3])):
	    rows = list(csv.DictReader(open(path)))
	    assert all(row.pop("simulated") == text(d["simulated"]) for row in rows)
	    assert rows and rows == [{k: text(v) for k, v in r.items()} for r in d[key]], (key, rows, d[key])
	PY
	apart "$rtl" diagnose --csv=nothing uneven.db
	[ "$status" -eq 2 ]
	[ "$err" = "rtl: diagnose: --csv=nothing: not findings or processes" ]
	apart "$rtl" diagnose --strict uneven.db
	[ "$status" -eq 3 ]
	sqlite3 clean.db 'DELETE FROM rtl_process; DELETE FROM rtl_queue'
	apart "$rtl" diagnose clean.db
	[[ $output == *"no process said hello"* ]]
}

@test "ls lists what lies in the state directory" {
	mkdir -p state/rtl
	fixture clean state/rtl/job-1.db
	fixture lossy state/rtl/job-2.db
	echo junk >state/rtl/junk.db
	apart "$rtl" ls --json
	[ "$status" -eq 0 ]
	valid_json "$output"
	[ "$(jq -c '[.sessions[] | select(.database | startswith("'"$work"'")) | [.state,.dispatched,.lost,.simulated]]' <<<"$output")" = \
		'[["closed",2000,0,true],["closed",2030,29,true]]' ]
	apart "$rtl" ls
	[ "$status" -eq 0 ]
	[[ $output == SESSION*"$work/state/rtl/job-2.db"* ]]
	apart "$rtl" summary job-2
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "SIMULATED INCOMPLETE: 2030 dispatched"* ]]
}

@test "a pipe that closes and a full disk are no success" {
	fixture clean
	run bash -c '"$1" summary clean.db >/dev/full' bash "$rtl"
	[ "$status" -eq 1 ]
	[[ $output == *"cannot write"* ]]
}

@test "a verb without FILE takes the database that was written last, and names it" {
	[ ! -S /run/rtl.sock ] || skip "this node has a service"
	local verb nothing="rtl: no FILE or SESSION is named, and there is no database in this folder, nor a session of yours; rtl run records one"
	mkdir here elsewhere state/rtl
	cd here
	# Of others: none of them is opened.
	sqlite3 other.db 'PRAGMA journal_mode = WAL; CREATE TABLE t (a)' >/dev/null
	echo text >text.db
	mkfifo pipe.db
	mkdir folder.db
	for verb in summary timeline info collectives outstanding tree diagnose report query 'export -f --chrome-json ../t.json'; do
		run -1 --separate-stderr "$rtl" $verb
		[ -z "$output" ]
		[ "$stderr" = "$nothing" ]
	done
	fixture clean old.db
	cp old.db new.db
	touch -d '2 hours ago' old.db
	touch -d '1 hour ago' new.db
	for verb in summary timeline info collectives outstanding tree diagnose query 'export -f --chrome-json ../t.json'; do
		"$rtl" $verb new.db >expected
		run -0 --separate-stderr "$rtl" $verb
		[ "$output" = "$(cat expected)" ]
		[ "${stderr_lines[0]}" = "rtl: new.db: the newest database, as no FILE or SESSION is named" ]
	done
	"$rtl" report
	[ -s new.html ]
	[ "$(echo other.db*)" = other.db ]
	# A session that is kept, then one that is being recorded in another folder.
	mv old.db ../state/rtl/job-1.db
	touch -d '1 minute ago' ../state/rtl/job-1.db
	run -0 --separate-stderr "$rtl" summary
	[ "${stderr_lines[0]}" = "rtl: $work/state/rtl/job-1.db: the newest database, as no FILE or SESSION is named" ]
	# Its file is made while the command already runs.
	cat >job.sh <<-'EOF'
		until sqlite3 -readonly ../elsewhere/live.db 'SELECT name FROM rtl_session' 2>/dev/null | grep -q .; do
			[ $SECONDS -lt 900 ] || exit
		done
		"$1" info
	EOF
	run -0 --separate-stderr "$rtl" run -q -o ../elsewhere/live.db bash job.sh "$rtl"
	[ "${stderr_lines[0]}" = "rtl: $work/elsewhere/live.db: the newest database, as no FILE or SESSION is named" ]
	[ "${stderr_lines[1]}" = "rtl: $work/elsewhere/live.db: nothing was dispatched in it; the newest with dispatches is $work/state/rtl/job-1.db" ]
}
