#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Tables of every verb at the width of the terminal they are shown on.
load lib.bash
bats_require_minimum_version 1.5.0

# on_terminal COLUMNS VERB...: what the verb shows there.
on_terminal() {
	local columns=$1
	shift
	script -qec "stty cols $columns; exec $rtl $*" /dev/null </dev/null | tr -d '\r'
}

# Lines of tables: they begin with a number, or an indented name.
rows() {
	grep -E '^ *[0-9,.-]+ +[0-9,.-]|^    ' || true
}

@test "no row of a table is wider than a terminal of 80 or 200 columns, and a name keeps 30 of them" {
	export LC_ALL=C.UTF-8 SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	local verb columns
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 2 --steps 3 --straggler 1 >out
	for verb in summary timeline info 'info --clocks' collectives tree diagnose; do
		for columns in 80 200; do
			on_terminal $columns "$verb" t.db >shown
			rows <shown >rows
			[ -s rows ] || { echo "no rows of $verb:"; cat shown; false; }
			sed 's/\xe2\x80\xa6/~/g' rows | awk -v columns=$columns 'length > columns { print; bad = 1 } END { exit bad }'
		done
	done
	on_terminal 80 summary t.db >shown
	grep -q '^(.*no room for MIN us, P50 us' shown
	awk '/^TOP KERNELS/ { getline; at = index($0, "KERNEL") } END { exit !(at && at <= 51) }' shown
	on_terminal 80 summary --wide t.db >wide
	grep -q 'P95 us' wide
	not grep -q 'no room for' wide
	grep -q 'Cijk_.*_WG16_16_1$' wide
	on_terminal 200 summary t.db >shown
	grep -q 'P95 us' shown
	# The line of the session breaks between words.
	sqlite3 t.db "UPDATE rtl_session SET name = 'a-name-of-a-session', host = 'a-host-with-a-name-of-its-own'"
	on_terminal 80 summary t.db >shown
	grep -A1 '^session ' shown >line
	awk 'length > 80 { print; bad = 1 } END { exit bad }' line
	grep -Eq '(^| )took [0-9.]+ s$' line
}

@test "rtl stat fits 80 columns with the state of each rank, and names the columns that it leaves out" {
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 2 --dispatches 1000000 --rate 500 >out 2>err 3>&- &
	pids+=($!)
	has_rows() { on_terminal 80 stat -b -n 1 >shown && grep -q '^ *0  .*  connected  ' shown; }
	wait_until has_rows
	sed 's/\xe2\x80\xa6/~/g' shown | awk 'length > 80 { print; bad = 1 } END { exit bad }'
	grep -Eq '^RANK  GPU +PID  STATE ' shown
	grep -q -- '--wide' shown
	on_terminal 80 stat -b -n 1 --wide | grep -Eq '^RANK .* DROPS .* UNTIMED  PROGRAM$'
}

@test "rtl query on a terminal cuts long names in the middle, and leaves out no column that was asked for" {
	export LC_ALL=C.UTF-8
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 1 --steps 2 >out
	# As in README: the statement first. All counts are 0, which says nothing, and has to stay.
	sql="SELECT name, category, min(gpuId) AS MIN, 0 AS zero FROM kernel WHERE name LIKE 'Cijk%' GROUP BY 1, 2"
	"$rtl" query "$sql" t.db >whole
	on_terminal 80 query "\"$sql\"" t.db | grep -v '^rtl: ' >shown
	[ "$(head -n 1 shown | tr -s ' ')" = "name category MIN zero" ]
	grep -q $'^Cijk_.*\xe2\x80\xa6' shown
	sed 's/\xe2\x80\xa6/~/g' shown | LC_ALL=C awk 'length > 80 { print; bad = 1 } END { exit bad }'
	not grep -q $'\xe2\x80\xa6' whole
}

@test "the collectives that diff compares keep their latencies at 80 columns, with the name on a line of its own" {
	export LC_ALL=C.UTF-8 SOFTGPU_FAULT='kernel *ncclDevKernel_* meet=ranks'
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 2 --steps 3 >out
	on_terminal 80 diff t.db t.db | sed -n '/^COLLECTIVES/,/^$/p' >shown
	grep -Eq '^ *RANKS +REF +NEW +REF us +NEW us +RATIO ' shown
	grep -q '^    ncclDevKernel_AllReduce_' shown
}

@test "sentences are broken between words at 80 columns, and are one line each where nothing shows them" {
	export LC_ALL=C.UTF-8
	local verb
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 3 --steps 3 --straggler 1 >out
	python3 "$here/fixture_ranks.py" groups "$here/../../collectord/db/schema" groups.db
	python3 "$here/fixture_diff.py" "$here/../../collectord/db/schema" kinds.db prefill=2 steps=7
	for verb in "whatif groups.db" "whatif t.db" "summary t.db" "timeline t.db" "collectives t.db" "tree t.db" "outstanding t.db" "diff $work/t.db t.db" "diff $work/kinds.db kinds.db" "diagnose t.db" \
		"info t.db" "info --counters t.db" "doctor --device soft" help; do
		on_terminal 80 "$verb" >shown
		python3 - shown <<-'END' || { echo "$verb"; false; }
			import re, sys
			lines = re.sub("\x1b\\[[0-9;]*m", "", open(sys.argv[1], encoding="utf-8").read()).splitlines()
			wide = [line for line in lines if len(line) > 80]
			# What has no blank in its last 80 columns, as a path, is not cut.
			wide = [line for line in wide if " " in line.strip()]
			print("\n".join(wide))
			sys.exit(bool(wide))
		END
	done
	for verb in summary timeline; do
		reading=$("$rtl" "$verb" t.db | tail -n 1)
		[ ${#reading} -gt 80 ]
		on_terminal 80 "$verb" t.db | tr '\n' ' ' | grep -qF -- "$reading"
	done
}

@test "the verdict is broken between words at the end of a terminal, in colour or not, and is one line elsewhere" {
	local verb line
	python3 "$here/fixture.py" lossy "$here/../../collectord/db/schema" lossy.db
	export TERM=xterm
	for verb in summary timeline info 'info --counters' 'info --clocks' collectives tree diagnose; do
		line=$("$rtl" $verb lossy.db 2>/dev/null | grep -m 1 '^SIMULATED INCOMPLETE: ')
		[ ${#line} -gt 60 ]
		on_terminal 60 "$verb" --color=never lossy.db >shown
		# Its words are those of the line, in lines of at most 60 columns.
		grep -m 1 -A 5 '^SIMULATED INCOMPLETE: ' shown | awk 'length > 60 { exit } { print }' >lines
		tr '\n' ' ' <lines | grep -qF -- "$line "
		on_terminal 60 "$verb" lossy.db | sed 's/\x1b\[[0-9;]*m//g' >coloured
		cmp shown coloured
	done
}

@test "the verdict is in colour on a terminal, and nowhere else, unless --color or NO_COLOR says otherwise" {
	local verb
	python3 "$here/fixture.py" clean "$here/../../collectord/db/schema" clean.db
	python3 "$here/fixture.py" lossy "$here/../../collectord/db/schema" lossy.db
	export TERM=xterm
	for verb in summary timeline info 'info --counters' 'info --clocks' collectives tree diagnose; do
		on_terminal 80 "$verb" clean.db >shown
		grep -q $'^SIMULATED \x1b\[32mcomplete\x1b\[0m: 2000 dispatched' shown
		on_terminal 80 "$verb" lossy.db >shown
		grep -q $'^SIMULATED \x1b\[1;31mINCOMPLETE\x1b\[0m: 2030 dispatched' shown
		"$rtl" $verb lossy.db >plain
		not grep -q $'\x1b' plain
		"$rtl" $verb --color=always lossy.db >plain
		grep -q $'^SIMULATED \x1b\[1;31mINCOMPLETE\x1b\[0m: ' plain
	done
	python3 "$here/fixture_ranks.py" groups "$here/../../collectord/db/schema" groups.db
	on_terminal 80 whatif groups.db >shown
	grep -q $'\x1b\[32mcomplete\x1b\[0m: ' shown
	NO_COLOR=1 on_terminal 80 summary lossy.db >shown
	not grep -q $'\x1b' shown
	TERM=dumb on_terminal 80 summary lossy.db >shown
	not grep -q $'\x1b' shown
	on_terminal 80 summary --color=never lossy.db >shown
	not grep -q $'\x1b' shown
	"$rtl" summary --color=always --json lossy.db >document
	not grep -q $'\x1b' document
	run -2 "$rtl" summary --color=red lossy.db
	[ "$output" = "rtl: summary: --color=red: not auto, always or never" ]
	# The last line of rtl run is the same line.
	script -qec "$rtl run --device soft -o run.db -- $demo --ranks 1 --steps 1" /dev/null </dev/null >shown
	grep -q $'^SIMULATED \x1b\[32mcomplete\x1b\[0m: ' shown
	"$rtl" run --device soft -o plain.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	not grep -q $'\x1b' err
}

@test "report, export and import draw a bar on a terminal, leave no trace of it, and draw none elsewhere" {
	local verb bar=$'\rrtl: '
	python3 "$here/fixture.py" clean "$here/../../collectord/db/schema" clean.db
	export TERM=xterm
	for verb in "report -f --html page.html" "export -f --torch trace.json"; do
		script -qec "exec $rtl $verb clean.db" /dev/null </dev/null >shown
		grep -Eqa "$bar${verb%% *} \[ {30}\]   0 %" shown
		# What is said next begins on an empty line.
		grep -qa $'\r\x1b\[Krtl: wrote ' shown
		TERM=dumb script -qec "exec $rtl $verb clean.db" /dev/null </dev/null >shown
		not grep -qa '%$\|\[ ' shown
		"$rtl" $verb clean.db >out 2>err
		not grep -q '\[ ' out err
	done
	script -qec "exec $rtl import -f -o imported.db trace.json/rank0_trace.json" /dev/null </dev/null >shown
	grep -Eqa "${bar}import \[ {30}\]   0 %" shown
	grep -qa 'kernels, ' shown
	"$rtl" import -f -o imported.db trace.json/rank0_trace.json >out 2>err
	not grep -q '\[ ' out err
}
