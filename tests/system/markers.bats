#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Markers with the real runtime and the real collector, into the database.
bats_require_minimum_version 1.5.0
load lib

markers=$RTL_BUILD/tests/shim/shim-markers

@test "a rank killed with open ranges: they are there, and open" {
	run -137 $rtl run -o t.db --device soft -- "$markers" open
	[ "$(sql t.db "SELECT kind, text, end_ns IS NULL FROM rtl_marker WHERE kind <> 'mark' ORDER BY start_ns, roctxId")" = \
		$'push|outer|1\npush|inner|1\npush|done|0\nstart|stopped elsewhere|0\nstart|never stopped|1' ]
	[ "$(sql t.db "SELECT b.text FROM rtl_marker a JOIN rtl_marker b ON b.roctxId = a.parent WHERE a.text = 'inner'")" = outer ]
	[ "$(sql t.db 'SELECT name, step, value FROM rtl_metric ORDER BY name')" = $'loss|0|0.5\nlr|0|0.0003' ]
	[ "$(sql t.db "SELECT kind, subject = tid, name FROM rtl_name")" = 'thread|1|the one thread' ]
}

@test "ranges begun before the runtime are the same ranges" {
	run -137 $rtl run -o t.db --device soft -- "$markers" early
	[ "$(sql t.db "SELECT text, end_ns IS NULL FROM rtl_marker WHERE kind = 'push' ORDER BY start_ns, roctxId")" = \
		$'outer|1\ninner|1\ndone|0' ]
	[ "$(sql t.db "SELECT count(*) FROM rtl_marker WHERE kind = 'start' AND end_ns IS NOT NULL")" -eq 1 ]
}

@test "a child that was forked before the runtime is a thread of its own, in no range of its parent" {
	run -0 $rtl run -o t.db --device soft -- "$markers" child
	[ "$(sql t.db "SELECT m.text, m.parent, m.tid = p.pid FROM rtl_marker m
		JOIN rtl_process p ON p.id = m.process_id")" = 'child||1' ]
}

@test "unknown ids and handles are the program's mistake, and cost no record" {
	run -0 $rtl run -o t.db --device soft -- "$markers" odd
	[[ $output != *INCOMPLETE* ]]
	[ -z "$(sql t.db 'SELECT * FROM rtl_loss')" ]
	[ "$(sql t.db "SELECT kind, text, end_ns IS NULL FROM rtl_marker ORDER BY start_ns, roctxId")" = \
		$'push|before|0\nmark|after|0' ]
	[ "$(sql t.db "SELECT kind, subject, name FROM rtl_name ORDER BY kind")" = \
		$'agent|-1|no agent\nstream|-1|no stream' ]
}

@test "of more threads at once than there are places for, each keeps its ranges" {
	run -0 $rtl run -o t.db --device soft -- "$markers" crowd
	[ "$(sql t.db "SELECT kind, count(*), sum(end_ns IS NULL), count(parent) FROM rtl_marker GROUP BY kind")" = \
		$'mark|100|0|100\npush|4160|0|0' ]
}

@test "a range that a key's destructor ends has ended" {
	run -0 $rtl run -o t.db --device soft -- "$markers" last
	[ "$(sql t.db 'SELECT text, end_ns IS NULL FROM rtl_marker')" = 'a scope|0' ]
}

@test "metrics and names are shown" {
	run -137 $rtl run -o t.db --device soft -- "$markers" open
	run -0 $rtl summary t.db
	grep -Eq '^loss .* 1 +0.5 +0.5 +0.5' <<<"$output"
	run -0 $rtl summary --json t.db
	[ "$(jq -c '[.metrics[] | [.name, .count, .last]]' <<<"$output")" = '[["loss",1,0.5],["lr",1,0.0003]]' ]
	run -0 $rtl info t.db
	grep -q 'the one thread' <<<"$output"
}

@test "eight threads flat out: every mark is stored or counted" {
	$rtl run -o t.db --device soft -- "$markers" flood 8 50000 >out
	grep -q '^made 400000$' out
	[ "$(sql t.db "SELECT (SELECT count(*) FROM rtl_marker WHERE kind = 'mark' AND text = 'flood') +
		(SELECT sum(value) FROM rtl_counter WHERE name = 'dropped_markers')")" -eq 400000 ]
	[ "$(sql t.db "SELECT count(*) > 0 FROM rtl_marker")" -eq 1 ]
}
