#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# docs/json.md has the keys of --json, of every verb, as they are.
load lib.bash
bats_require_minimum_version 1.5.0

schema=$here/../../collectord/db/schema

# same VERB DOCUMENT...
same() {
	python3 "$here/json_keys.py" "$here/../../docs/json.md" "$@"
}

# ask NAME VERB...: its document, NAME.json
ask() {
	"$rtl" "${@:2}" >"$1.json" 2>err
}

@test "docs/json.md has every key that a verb's --json prints for a file, and no other" {
	for kind in clean lossy hung; do
		python3 "$here/fixture.py" $kind "$schema" $kind.db
	done
	for kind in causes held missing groups late; do
		python3 "$here/fixture_ranks.py" $kind "$schema" $kind.db
	done
	for words in reference "slow slow=100" "late late=3000 late_rank=1 ranks=4 steps=30" "absent missing=1" "event ranks=3 steps=30"; do
		# shellcheck disable=SC2086 # words
		set -- $words
		python3 "$here/fixture_diff.py" "$schema" "run-$1.db" "${@:2}"
	done
	"$rtl" run -q --device soft --mode hip -o hip.db -- "$demo" --ranks 2 --steps 6 >out
	"$rtl" run -q --device soft --mode full -o full.db -- "$demo" --ranks 2 --steps 6 >out
	# In the middle of a step all stand still for a second.
	sqlite3 run-event.db "CREATE TEMP TABLE half AS SELECT (min(start) + max(start)) / 2 AS at FROM rtl_dispatch;
		UPDATE rtl_dispatch SET start = start + 1000000000 WHERE start > (SELECT at FROM half);
		UPDATE rtl_marker_base SET end_ns = end_ns + 1000000000 WHERE end_ns > (SELECT at FROM half);
		UPDATE rtl_marker_base SET start_ns = start_ns + 1000000000 WHERE start_ns > (SELECT at FROM half)"
	# What fixtures have none of.
	sqlite3 lossy.db "INSERT INTO rtl_loss_interval_base VALUES (1, 0, 'dropped_recorder_full', 0, 1, 1, 2, 3, 4);
		INSERT INTO rocpd_string (string) VALUES ('loss');
		INSERT INTO rtl_metric_base SELECT 1, 1, NULL, 7, 5000000000, id, 1.5 FROM rocpd_string WHERE string = 'loss';
		INSERT INTO rtl_name_base SELECT 1, 'thread', 7, id, 7, 5000000000 FROM rocpd_string WHERE string = 'loss'"

	for file in lossy hung causes held run-late run-event hip full; do
		ask summary-$file summary --json $file.db
	done
	ask summary-category summary --by category --json clean.db
	ask summary-rank summary --by rank --json clean.db
	same summary summary-*.json

	for file in lossy full; do
		ask info-$file info --json $file.db
	done
	ask info-counters info --counters --json clean.db
	ask info-clocks info --clocks --json clean.db
	same info info-*.json

	ask timeline-segments timeline --segments --json groups.db
	ask timeline-kinds timeline --by kind --json clean.db
	same timeline timeline-*.json

	ask collectives-missing collectives --json missing.db
	ask collectives-late collectives --json late.db
	same collectives collectives-*.json

	ask tree-merged tree --json hip.db
	ask tree-rank tree --by rank --json hip.db
	same tree tree-*.json

	ask diagnose-lossy diagnose --json lossy.db
	ask diagnose-causes diagnose --json causes.db
	same diagnose diagnose-*.json

	ask whatif-ranks whatif --json groups.db
	# No prediction: status 4, and a document.
	run -4 ask whatif-refused whatif --json late.db
	same whatif whatif-*.json

	ask outstanding-hung outstanding --json hung.db
	same outstanding outstanding-*.json

	ask diff-slow diff --json run-reference.db run-slow.db
	python3 "$here/fixture_diff.py" "$schema" run-kinds.db prefill=2 steps=7
	ask diff-kinds diff --allow steps --json run-reference.db run-kinds.db
	cp run-slow.db run-renamed.db
	sqlite3 run-renamed.db "UPDATE rocpd_string SET string = 'fused(float*)' WHERE string LIKE 'gemm%'"
	ask diff-renamed diff --json run-reference.db run-renamed.db
	# Not comparable: status 4, and a document.
	run -4 ask diff-absent diff --json run-reference.db run-absent.db
	ask diff-collectives diff --json late.db late.db
	same diff diff-*.json

	ask query-views query --json clean.db
	ask query-rows query --json clean.db 'SELECT * FROM top'
	same query query-*.json

	ask doctor doctor --json --device soft
	same doctor doctor.json
}

@test "docs/json.md has every key that ls, stat and stat --outstanding print of live and of closed sessions, and no other" {
	mkdir store
	"$collectord" --socket "$work/s.sock" --db-dir "$work/store" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/s.sock"
	"$rtl" run -q --socket "$work/s.sock" --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
	"$rtl" run -q --socket "$work/s.sock" --device soft -- "$demo" --ranks 2 --dispatches 2000000 --rate 1000 >out 2>err 3>&- &
	pids+=($!)
	ranked() { [ "$("$rtl" stat --socket "$work/s.sock" -n 1 --json | jq '.ranks | length')" -ge 2 ]; }
	wait_until ranked
	ask ls ls --json --socket "$work/s.sock"
	same ls ls.json
	[ "$(jq '.sessions | length' ls.json)" -eq 2 ]
	ask stat stat -n 2 -i 0.1 --json --socket "$work/s.sock"
	same stat stat.json
	# In flight is something most of the time; it is to be looked at again where nothing was.
	waits() {
		ask waiting stat --outstanding --json --socket "$work/s.sock"
		jq -e '[.sessions[].waiting[]] | length > 0' waiting.json >/dev/null
	}
	wait_until waits
	jq '.sessions[] | del(.session) + {schema: 1}' waiting.json >outstanding.json
	same outstanding outstanding.json
	[ "$(jq -c '[keys, (.sessions[0] | has("session"))]' waiting.json)" = '[["schema","sessions"],true]' ]
}

@test "docs/json.md has a section for each verb that takes --json" {
	local verb
	for verb in $("$rtl" --help | sed -n 's/^  rtl \([a-z]*\).*/\1/p'); do
		[ "$verb" != help ] || continue
		"$rtl" "$verb" --help >"$verb.help"
	done
	diff <(grep -l -- --json ./*.help | sed 's,^./\(.*\).help$,\1,' | sort) \
		<(sed -n 's/^## rtl \([a-z]*\)$/\1/p' "$here/../../docs/json.md" | sort)
}
