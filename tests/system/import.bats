#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl import: what other tools recorded, as a database. traces/README.md says where the files are from.
load lib.bash
bats_require_minimum_version 1.5.0

traces=$here/traces

trace() { # trace RANK WORLD [STEPS]
	python3 "$here/make_torch_trace.py" "$@"
}

@test "the figures of real PyTorch traces are exact to the nanosecond" {
	local count=0
	while read -r file rest; do
		[ "$file" != file ] || continue
		"$rtl" import -f -o t.db "$traces/$file"
		python3 "$here/check_import.py" t.db "$traces/expected.tsv" "$file"
		[ "$(sql t.db 'PRAGMA integrity_check')" = ok ]
		count=$((count + 1))
	done <"$traces/expected.tsv"
	[ $count -eq 10 ]
}

@test "an import is neither complete nor incomplete" {
	"$rtl" import -o t.db "$traces/hta_triton.json.gz"
	run -0 --separate-stderr "$rtl" summary t.db
	[ "${lines[0]}" = "imported: 1 kernel; what PyTorch's profiler lost is unknown" ]
	run -0 --separate-stderr "$rtl" summary --json t.db
	jq -e '.complete == null and .dispatched == null and .stored == 1' <<<"$output"
	run -3 --separate-stderr "$rtl" summary --strict t.db
	[ "$stderr" = "rtl: --strict: imported: 1 kernel; what PyTorch's profiler lost is unknown" ]
	"$rtl" export --csv csv t.db
	grep -q ",0,,\"imported: 1 kernel; what PyTorch's profiler lost is unknown\"\$" csv/processes.csv
	[ "$(sql t.db "SELECT dispatched IS NULL AND pending IS NULL AND stored = 1 FROM rtl_account")" = 1 ]
	[ "$(sql t.db "SELECT value IS NULL FROM rtl_meta WHERE key = 'complete'")" = 1 ]
	# A row that goes afterwards is found out.
	sqlite3 t.db 'DELETE FROM rtl_queue'
	run -1 "$rtl" summary t.db
	[[ $output == *"1 kernels were imported into it; 0 are found" ]]
}

@test "ranks with the same correlation ids never meet" {
	for rank in 0 1 2 3 4 5 6 7; do trace $rank 8 >rank$rank.json; done
	"$rtl" import -o t.db rank?.json
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT rank), count(DISTINCT process_id) FROM rocpd_op')" = "64|8|8" ]
	# Each kernel hangs on a call of its own process, under a name that has its rank.
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id
		WHERE c.process_id = o.process_id AND o.submit_ns = c.start_ns AND o.start - c.start_ns = 20000')" = 64 ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id
		WHERE k.name GLOB 'kernel_*' AND k.name NOT GLOB '*_of_rank_' || o.rank")" = 0 ]
	# The tree of all has the totals of each alone.
	for rank in 0 3 7; do
		"$rtl" import -f -o one.db rank$rank.json
		[ "$(sql one.db 'SELECT sum("end" - start), count(*) FROM rocpd_op')" = \
			"$(sql t.db "SELECT sum(\"end\" - start), count(*) FROM rocpd_op WHERE rank = $rank")" ]
	done
	[ "$(sql t.db "SELECT count(DISTINCT foreign_id), min(foreign_id), max(foreign_id) FROM rtl_host_call")" = "8|1|8" ]
	# Collectives are matched by what the kernels say.
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT comm), count(DISTINCT seq), min(bytes), max(comm_size), sum(from_kernel)
		FROM rtl_collective')" = "16|1|2|4096|8|16" ]
	"$rtl" collectives --json t.db | jq -e '.matched == "by_sequence" or .matched == "sequence" or (.operations | length) >= 1'
	for verb in summary timeline tree diagnose collectives info report; do "$rtl" $verb t.db >out; done
}

@test "traces that were merged are split by the rank of each event" {
	trace 0 2 >rank0.json
	trace 1 2 >rank1.json
	"$rtl" import -o apart.db rank0.json rank1.json
	python3 "$here/merge_torch_traces.py" tracefuse rank0.json rank1.json >fused.json
	python3 "$here/merge_torch_traces.py" aorta rank0.json rank1.json >merged.json
	for kind in fused merged; do
		"$rtl" import -o $kind.db $kind.json
		[ "$(sql $kind.db 'SELECT count(DISTINCT process_id), count(*), count(api_id) FROM rocpd_op')" = "2|16|16" ]
		for table in 'SELECT rank, k.name, "end" - start FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id ORDER BY 1, 3, 2' \
			'SELECT rank, op, bytes, seq, comm FROM rtl_collective ORDER BY 1, 4' \
			"SELECT rank, text FROM rtl_marker ORDER BY 1, 2"; do
			[ "$(sql $kind.db "$table")" = "$(sql apart.db "$table")" ]
		done
	done
}

@test "operations have their shapes, parents and calls" {
	trace 0 1 1 >rank0.json
	"$rtl" import -o t.db rank0.json
	[ "$(sql t.db 'SELECT name, shapes, types, sequence, external_id, kind FROM rtl_op ORDER BY id LIMIT 1')" = \
		'aten::mm|[[8, 16], [16, 4]]|["float", "c10::Half"]|0|101|op' ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_host_call c JOIN rtl_op o ON o.process_id = c.process_id AND o.op_id = c.op_id
		WHERE c.start_ns BETWEEN o.start_ns AND o.end_ns')" = 4 ]
	[ "$(sql t.db 'SELECT DISTINCT workgroupX, gridX, gridY FROM rocpd_op')" = "64|128|3" ]
}

@test "a file that is here already is left out, and others are added" {
	trace 0 2 >rank0.json
	trace 1 2 >rank1.json
	"$rtl" import -o t.db rank0.json
	run -1 --separate-stderr "$rtl" import -o t.db rank1.json
	[ "$stderr" = "rtl: t.db: exists; -f overwrites it" ]
	run -2 --separate-stderr "$rtl" import -o - rank1.json
	[ "$stderr" = "rtl: import: -o -: a database is no stream; name a file" ]
	[ ! -e ./- ]
	"$rtl" import --append -o t.db rank1.json rank0.json 2>err
	grep -q '^rtl: rank0.json: left out, as .*t.db: has rank0.json already$' err
	[ "$(sql t.db 'SELECT count(*), count(DISTINCT rank) FROM rocpd_op')" = "16|2" ]
	[ "$(sql t.db 'SELECT count(*) FROM rtl_import')" = 2 ]
	run -0 --separate-stderr "$rtl" summary t.db
	[ "${lines[0]}" = "imported: 16 kernels; what PyTorch's profiler lost is unknown" ]
	run -1 --separate-stderr "$rtl" import --append -o none.db rank0.json
	[ "$stderr" = "rtl: none.db: is not there; without --append it is made" ]
	[ ! -e none.db ]
	# One that a collector still writes has rows in its log.
	cp t.db live.db
	echo log >live.db-wal
	for how in -f --append; do
		run -1 --separate-stderr "$rtl" import $how -o live.db rank1.json
		[ "$stderr" = "rtl: live.db: is being written; name another file, or wait until it is closed" ]
		cmp live.db t.db
	done
	# The rank, where only the file's name has it.
	jq 'del(.distributedInfo)' rank1.json >job_rank-5.json
	jq '.distributedInfo.rank = -1' rank1.json >job_rank7.json
	jq 'del(.distributedInfo)' rank1.json >worker12.json
	"$rtl" import -o n.db --rank-from 'worker([0-9]+)' worker12.json
	[ "$(sql n.db 'SELECT DISTINCT rank FROM rocpd_op')" = 12 ]
	"$rtl" import -f -o n.db job_rank-5.json
	[ "$(sql n.db 'SELECT DISTINCT rank FROM rocpd_op')" = 5 ]
	"$rtl" import -f -o n.db job_rank7.json
	[ "$(sql n.db 'SELECT DISTINCT rank FROM rocpd_op')" = 7 ]
}

# One line that names the file and the byte, and nothing of it anywhere.
refused() { # refused FILE PATTERN
	run -1 --separate-stderr "$rtl" import -o bad.db "$1"
	[ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr =~ ^rtl:\ $1:\ $2 ]] || {
		echo "$1: $stderr"
		return 1
	}
	[ "$(echo bad.db*)" = "bad.db*" ]
	# Adding to a database fails in the same readers: every eighth of them, and with --long all.
	[ -n "${RTL_TEST_LONG:-}" ] || [ $((${count:-0} % 8)) -eq 0 ] || return 0
	cp good.db before.db
	run -1 --separate-stderr "$rtl" import --append -o good.db "$1"
	cmp good.db before.db
	[ "$(echo good.db*)" = good.db ]
}

@test "malformed files of each format are refused with a line, and nothing is half imported" {
	local file verdict why count=0
	python3 "$here/make_malformed.py" . >table
	"$rtl" import -o good.db "$traces/hta_triton.json.gz"
	while IFS=$'\t' read -r file verdict why; do
		count=$((count + 1))
		# With --long all of them; else every third, and of those that have no end the one that is refused soonest.
		case "${RTL_TEST_LONG:-}$file" in
		1* | trace_lite_endless.db) ;;
		*_endless.db) continue ;;
		*) [ $((count % 3)) -eq 0 ] || continue ;;
		esac
		if [ "$verdict" = refused ]; then
			refused "$file" "$why"
		else
			"$rtl" import -f -o odd.db "$file"
			[ "$(sql odd.db 'PRAGMA integrity_check')" = ok ]
		fi
	done <table
	[ $count -eq "$(wc -l <table)" ]
	[ $count -ge 110 ]
	for file in torch_mark.json torch_packed.json.gz torch_utf8.json torch_twice.json torch_same.json; do
		"$rtl" import -f -o odd.db $file
		[ "$(sql odd.db 'SELECT count(*) FROM rocpd_op')" = 80 ]
	done
	# Bytes that are no UTF-8 become U+FFFD.
	for file in torch_utf8.json rocprofv3_utf8.json trace_lite_utf8.db; do
		"$rtl" import -f -o odd.db $file
		[ "$(sql odd.db "SELECT count(*) FROM rtl_kernel WHERE name GLOB 'a' || char(65533) || '*b'")" = 1 ]
	done
	refused missing.json 'cannot open: No such file or directory'
	mkdir folder
	refused folder 'is a directory; name the files in it'
	trace 0 1 50 >t.json
	head -c 5000 t.json >cut.json
	sed 's/"dur": 990.5/"dur": -1/' t.json >negative.json
	# --keep-going has the rest, and says so with its status.
	# A file that a disk does not give fails so, as this one does.
	run -1 --separate-stderr "$rtl" import --keep-going -o rest.db cut.json /proc/self/mem t.json negative.json
	grep -q '^rtl: /proc/self/mem: cannot read: ' <<<"$stderr"
	[ "$(sql rest.db 'SELECT count(*) FROM rocpd_op')" = 200 ]
	[ "$(sql rest.db 'SELECT group_concat(file) FROM rtl_import')" = t.json ]
}

@test "an import that a signal ends leaves nothing behind" {
	local signal pid
	trace 0 1 >rank0.json
	"$rtl" import -o good.db rank0.json
	cp good.db before.db
	# Takes minutes, of which the first moment is needed.
	truncate -s 200G endless.json
	for signal in INT TERM HUP; do
		env --default-signal=INT "$rtl" import -o new.db rank0.json endless.json 2>/dev/null 3>&- &
		pid=$!
		wait_until compgen -G 'new.db.tmp.*'
		ends_by $signal "$pid"
		[ "$(echo new.db*)" = "new.db*" ]
		env --default-signal=INT "$rtl" import --append -o good.db endless.json 2>/dev/null 3>&- &
		pid=$!
		wait_until compgen -G 'good.db.tmp.*'
		ends_by $signal "$pid"
		[ "$(echo good.db*)" = good.db ]
		cmp good.db before.db
	done
}

# signal_at_each CALL LEFT COMMAND...: SIGTERM comes with the first call of that name, then with the second, and so on
# until the command makes fewer; nothing begins with LEFT then, but where the command has ended.
signal_at_each() {
	local -x ASAN_OPTIONS=detect_leaks=0
	local call=$1 left=$2 at=0 status=143
	shift 2
	while [ $status -eq 143 ]; do
		at=$((at + 1))
		status=0
		strace -o trace.txt -e "trace=$call" -e "inject=$call:signal=TERM:when=$at" "$rtl" "$@" >/dev/null 2>&1 || status=$?
		[ $status -eq 0 ] || [ "$(compgen -G "$left*")" = "" ]
	done
	[ $status -eq 0 ] && [ $at -gt 1 ]
}

# bats test_tags=apart
@test "a signal that comes with the call that makes a file leaves nothing behind" {
	trace 0 1 >rank0.json
	"$rtl" import -o a.db rank0.json
	signal_at_each openat new.db import -o new.db rank0.json
	signal_at_each openat page.html report --html page.html a.db
	signal_at_each mkdir table export --csv table a.db
	tool_trace trace_lite one.db
	cp one.db other.db
	signal_at_each mkdir rtl-import- diagnose one.db other.db
}

@test "an exported database that is imported again has equal rows, but for what the format has no place for" {
	local kind format
	python3 "$here/fixture_ranks.py" overlap "$here/../../collectord/db/schema" overlap.db
	python3 "$here/fixture_tree.py" plain "$here/../../collectord/db/schema" plain.db
	"$rtl" run -q -o run.db --mode full --device soft -- "$demo" --ranks 2 --steps 2
	trace 0 2 >rank0.json
	trace 1 2 >rank1.json
	"$rtl" import -o imported.db rank0.json rank1.json
	for kind in overlap plain run imported $(seq "${RTL_TEST_LONG:+20}2"); do
		[ -e "$kind.db" ] || python3 "$here/fixture_random.py" "$kind" "$here/../../collectord/db/schema" "$kind.db"
		"$rtl" export --torch torch --rocprofv3 rocprofv3 --rocpd rocpd --rpd rpd "$kind.db"
		for format in torch rocprofv3 rocpd rpd; do
			[ ! -d $format ] || set -- $format/*
			[ -d $format ] || set -- $format
			"$rtl" import -f -o again.db "$@"
			python3 "$here/check_round_trip.py" $format "$kind.db" again.db >>lost
		done
		rm -rf torch rocprofv3 rocpd rpd "$kind.db"
	done
	# All kinds of rows were there.
	for kind in kernels copies calls ranges ops collectives; do
		grep -Eq "^torch: $kind: [1-9]" lost
	done
}

# bats test_tags=apart
@test "a real PyTorch trace that is exported and imported again has equal rows" {
	local file
	for file in "$traces"/*.json.gz; do
		rm -rf torch csv
		"$rtl" import -f -o once.db "$file"
		"$rtl" export -f --torch torch --perfetto t.pftrace --csv csv once.db
		"$rtl" import -f -o twice.db torch/*
		python3 "$here/check_round_trip.py" torch once.db twice.db >>equal
		# It is IMPORTED there, neither complete nor incomplete.
		python3 "$here/check_perfetto.py" once.db t.pftrace
		python3 "$here/check_csv.py" once.db csv
	done
	grep -q '^torch: ops: 603 rows equal; lost: nothing$' equal
}

tool_trace() { # tool_trace KIND OUT
	python3 "$here/make_tool_traces.py" "$@"
}

@test "a database of rocmProfileData has each operation, and the call that caused it" {
	gunzip -c "$traces/rpd_matmul.rpd.gz" >m.rpd
	"$rtl" import -o t.db m.rpd
	[ "$(sql t.db 'SELECT count(*), count(api_id), sum("end" - start), min(start) FROM rocpd_op')" = "$(sql m.rpd "
		SELECT count(*), count(*), sum(\"end\" - start), min(start) FROM rocpd_op o JOIN rocpd_string s ON s.id = o.opType_id
		WHERE s.string NOT GLOB 'Copy*'")" ]
	[ "$(sql t.db 'SELECT direction, count(*), sum(end_ns - start_ns) FROM rtl_copy GROUP BY 1')" = \
		"$(printf 'd2h|53|%s\nh2d|2|%s' "$(sql m.rpd "SELECT sum(\"end\" - start) FROM rocpd_op o JOIN rocpd_string s
			ON s.id = o.opType_id WHERE s.string = 'CopyDeviceToHost'")" \
			"$(sql m.rpd "SELECT sum(\"end\" - start) FROM rocpd_op o JOIN rocpd_string s ON s.id = o.opType_id
			WHERE s.string = 'CopyHostToDevice'")")" ]
	[ "$(sql t.db 'SELECT count(*), min(start_ns) FROM rtl_host_call')" = "$(sql m.rpd 'SELECT count(*), min(start) FROM rocpd_api')" ]
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id WHERE c.start_ns > o.start")" = 0 ]
	# What a launch gave in workgroups is in work-items here, as that of hipExtModuleLaunchKernel was.
	[ "$(sql t.db "SELECT workgroupX, gridX, gridY FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id
		WHERE k.name GLOB 'Cijk*'")" = "256|1792|782" ]
	[ "$(sql t.db 'SELECT max(gridX % workgroupX) FROM rocpd_op WHERE workgroupX > 0')" = 0 ]
	run -0 --separate-stderr "$rtl" summary t.db
	[ "${lines[0]}" = "imported: 30 kernels; what rocmProfileData lost is unknown" ]
	# When it was is unknown.
	[ "${lines[1]}" = "session t  took 3.380 s" ]
	# Its GPUs have numbers alone; a kernel of a GPU that is not listed would be in no view of rocpd.
	"$rtl" export --rocpd t.rocpd t.db
	[ "$(sqlite3 t.rocpd 'SELECT count(*) FROM kernels')" = 30 ]
	"$rtl" import -o again.db t.rocpd
	# A trace of an unknown time of day has its own times, which an import takes.
	"$rtl" export --torch torch --csv csv --rpd t.rpd t.db
	python3 "$here/check_torch.py" t.db torch
	python3 "$here/check_csv.py" t.db csv
	python3 "$here/check_rpd.py" t.db t.rpd
	"$rtl" import -o torch.db torch/*
	python3 "$here/check_round_trip.py" torch t.db torch.db
	sqlite3 m.rpd 'UPDATE rocpd_op SET "end" = start - 1 WHERE id = 7'
	run -1 --separate-stderr "$rtl" import -o bad.db m.rpd
	[ "$stderr" = "rtl: m.rpd: row 7 of rocpd_op: ends before it begins" ]
	sqlite3 other.db 'CREATE TABLE t (id)'
	run -1 --separate-stderr "$rtl" import -o bad.db other.db
	[ "$stderr" = "rtl: other.db: at byte 0: is a database of no tool that rtl import reads" ]
	[ ! -e bad.db ]
}

@test "a compressed database is imported as the database in it" {
	local name
	gunzip -c "$traces/rpd_matmul.rpd.gz" >m.rpd
	"$rtl" import -o plain.db m.rpd
	"$rtl" import -o packed.db "$traces/rpd_matmul.rpd.gz"
	for name in plain packed; do
		sql $name.db 'SELECT gpuId, queueId, start, "end", description_id, api_id FROM rocpd_op ORDER BY id;
			SELECT api, start_ns, end_ns FROM rtl_host_call ORDER BY id; SELECT start_ns, bytes FROM rtl_copy ORDER BY 1' >$name
	done
	cmp plain packed
	[ "$(wc -l <packed)" -gt 200 ]
	[ "$(echo packed.db*)" = packed.db ]
	[ "$(sql packed.db 'SELECT file, kind FROM rtl_import')" = "rpd_matmul.rpd.gz|rpd" ]
	gzip -k plain.db
	"$rtl" import -o again.db plain.db.gz
	[ "$(sql again.db 'SELECT count(*) FROM rocpd_op')" = 30 ]
}

@test "a file of rocm-trace-lite has its ranges and shapes" {
	tool_trace trace_lite rank3.db
	"$rtl" import -o t.db rank3.db
	[ "$(sql t.db 'SELECT gpuId, o.rank, workgroupX, gridX, gridY, m.text FROM rocpd_op o
		LEFT JOIN rtl_marker m USING (process_id, roctxId) ORDER BY start')" = "$(printf '3|3|64|128|2|step 1\n3|3|64|128|2|')" ]
	[ "$(sql t.db 'SELECT text, start_ns, end_ns FROM rtl_marker')" = "step 1|800|3000" ]
	[ "$(sql t.db 'SELECT pid FROM rtl_process')" = 41 ]
}

@test "rtl diagnose compares the files that rocm-trace-lite left, one a process" {
	local pid
	for pid in 41 42 43; do
		tool_trace trace_lite trace_$pid.db
		sqlite3 trace_$pid.db "UPDATE rocpd_metadata SET value = $pid; UPDATE rocpd_op SET gpuId = $pid - 41 WHERE gpuId >= 0"
	done
	# A process of which nothing was seen.
	sqlite3 trace_42.db 'DELETE FROM rocpd_op'
	run -0 --separate-stderr "$rtl" diagnose --json trace_41.db trace_42.db trace_43.db
	jq -e '[.processes[] | [.rank, .pid, .kernels]] == [[0, 41, 2], [1, 42, 0], [2, 43, 2]] and
		[.findings[] | [.level, .pid]] == [["MISSING", 42]]' <<<"$output"
	grep -q '^rtl: trace_43.db: its rank is not known: taken for rank 2, its place$' <<<"$stderr"
	run -3 "$rtl" diagnose trace_41.db trace_42.db --strict
	# A rank that a file tells is its own.
	mv trace_43.db rank1_43.db
	run -0 --separate-stderr "$rtl" diagnose --csv=processes trace_41.db rank1_43.db
	[ "$(cut -d, -f1,2 <<<"$output" | tail -n +2 | tr '\n' ' ')" = "0,41 1,43 " ]
	# Nothing is left of the database, and a file that cannot be read ends it.
	run -1 --separate-stderr "$rtl" diagnose trace_41.db none.db
	[ "${stderr_lines[-1]}" = "rtl: none.db: cannot open: No such file or directory" ]
	[ "$(echo rtl-import*)" = "rtl-import*" ]
}

@test "a file of rocprofv3 has its processes apart, whatever comes first in it" {
	tool_trace rocprofv3 t.json
	"$rtl" import -o t.db t.json
	[ "$(sql t.db 'SELECT pid, count(*), count(DISTINCT api_id), min(start), min(workgroupX), max(gridY), k.name, sum(start - submit_ns)
		FROM rocpd_op o JOIN rtl_process p ON p.id = o.process_id JOIN rtl_kernel k ON k.id = o.description_id GROUP BY 1')" = \
		"$(printf '41|2|2|1000|64|2|add()|200\n42|2|2|1007|64|2|add()|200')" ]
	[ "$(sql t.db 'SELECT DISTINCT api, c.process_id = o.process_id FROM rtl_host_call c JOIN rocpd_op o ON o.api_id = c.id')" = "hipLaunchKernel|1" ]
	[ "$(sql t.db 'SELECT DISTINCT direction, bytes, end_ns - start_ns, target_gpuId FROM rtl_copy')" = "h2d|4096|500|0" ]
	[ "$(sql t.db 'SELECT DISTINCT text FROM rocpd_op o JOIN rtl_marker m USING (process_id, roctxId)')" = "step 1" ]
	[ "$(sql t.db 'SELECT name FROM rtl_gpu')" = "AMD Instinct MI300X" ]
	sed 's/"end_timestamp": 1050/"end_timestamp": 1/' t.json >bad.json
	run -1 --separate-stderr "$rtl" import -o bad.db bad.json
	[[ $stderr =~ ^'rtl: bad.json: at byte '[0-9]+': a record ends before it begins'$ ]]
}

@test "a database of rocprofiler-sdk has a process for each guid" {
	tool_trace rocpd t.rocpd.db
	"$rtl" import -o t.db t.rocpd.db
	[ "$(sql t.db 'SELECT p.rank, pid, count(*), count(DISTINCT api_id), min(start), min(workgroupX), max(gridY), k.name, sum(start - submit_ns)
		FROM rocpd_op o JOIN rtl_process p ON p.id = o.process_id JOIN rtl_kernel k ON k.id = o.description_id GROUP BY 1')" = \
		"$(printf '0|41|2|2|1000|64|2|add()|200\n1|42|2|2|1001|64|2|add()|202')" ]
	[ "$(sql t.db 'SELECT DISTINCT api, c.process_id = o.process_id FROM rtl_host_call c JOIN rocpd_op o ON o.api_id = c.id')" = "hipLaunchKernel|1" ]
	[ "$(sql t.db 'SELECT DISTINCT direction, bytes, end_ns - start_ns, target_gpuId FROM rtl_copy')" = "h2d|4096|500|0" ]
	[ "$(sql t.db 'SELECT DISTINCT text FROM rocpd_op o JOIN rtl_marker m USING (process_id, roctxId)')" = "step 1" ]
	sqlite3 t.rocpd.db 'UPDATE rocpd_kernel_dispatch_b2 SET start = NULL WHERE id = 2'
	run -1 --separate-stderr "$rtl" import -o bad.db t.rocpd.db
	[ "$stderr" = "rtl: t.rocpd.db: row 2 of rocpd_kernel_dispatch: a time is no number, or out of range" ]
}

@test "lines of AORTA are metrics of their steps" {
	tool_trace aorta rank_02_metrics.jsonl
	"$rtl" import -o t.db rank_02_metrics.jsonl
	[ "$(sql t.db "SELECT rank, step, value, time_ns FROM rtl_metric WHERE name = 'loss' ORDER BY step")" = \
		"$(printf '2|100|2.5|0\n2|101|1.5|10500000\n2|102|0.5|21000000')" ]
	[ "$(sql t.db "SELECT name, value FROM rtl_metric WHERE step = 102 AND name GLOB '*.*' ORDER BY name")" = \
		"$(printf 'overlap_ms.compute_comm|1.5\nper_stream_ms.compute|7.25\nutilization.compute|0.69')" ]
	sed '2s/"total_ms": 10.5/"total_ms": -1/' rank_02_metrics.jsonl >bad.jsonl
	run -1 --separate-stderr "$rtl" import -o bad.db bad.jsonl
	[[ $stderr =~ ^'rtl: bad.jsonl: at byte '[0-9]+': the time of a step is out of range'$ ]]
}

fixture() { # fixture SCRIPT KIND
	python3 "$here/$1.py" "$2" "$here/../../collectord/db/schema" "$2.db"
}

# All that a process has, told without the ids that an import moves.
told() { # told DB PROCESS
	sql "$1" "SELECT gpuId, queueId, sequenceId, start, \"end\", submit_ns, roctxId, tid, correlation_id, gridX, k.name, api_id & 1099511627775
		FROM rocpd_op o JOIN rtl_kernel k ON k.id = o.description_id WHERE process_id = $2 ORDER BY 2, 3;
		SELECT correlation_id, parent_id, tid, api, start_ns, end_ns, roctxId FROM rtl_host_call WHERE process_id = $2 ORDER BY 1;
		SELECT correlation_id, op, comm, comm_rank, seq, bytes FROM rtl_collective WHERE process_id = $2 ORDER BY 1;
		SELECT roctxId, parent, text, start_ns, end_ns FROM rtl_marker WHERE process_id = $2 ORDER BY 1;
		SELECT copyId, start_ns, bytes FROM rtl_copy WHERE process_id = $2 ORDER BY 1;
		SELECT queueId, dispatched, stored, dropped, untimed, outstanding FROM rtl_account WHERE process_id = $2 ORDER BY 1;
		SELECT reason, count FROM rtl_loss WHERE process_id = $2 ORDER BY 1"
}

@test "databases of rtl are added with their ids moved, and what they lost stays known" {
	fixture fixture_tree plain
	fixture fixture_ranks overlap
	fixture fixture lossy
	"$rtl" import -o t.db plain.db
	"$rtl" import --append -o t.db overlap.db lossy.db
	[ "$(sql t.db 'PRAGMA integrity_check')" = ok ]
	local moved=0 name process
	for name in plain overlap lossy; do
		for process in $(sql $name.db 'SELECT id FROM rtl_process ORDER BY id'); do
			moved=$((moved + 1))
			[ "$(told $name.db "$process" | sha256sum)" = "$(told t.db $moved | sha256sum)" ]
		done
	done
	[ "$(sql t.db 'SELECT count(*) FROM rtl_process')" = $moved ]
	# Texts once, but for kernels, each of which has its own.
	[ "$(sql t.db 'SELECT count(*) - count(DISTINCT string) FROM rocpd_string WHERE id NOT IN (SELECT id FROM rtl_kernel_base)')" = 0 ]
	[ "$(sql t.db 'SELECT sum(dispatched), sum(stored) FROM rtl_account')" = \
		"$(for name in plain overlap lossy; do sql $name.db 'SELECT sum(dispatched), sum(stored) FROM rtl_account'; done |
			awk -F'|' '{d += $1; s += $2} END {print d "|" s}')" ]
	run -0 --separate-stderr "$rtl" summary t.db
	[[ ${lines[0]} == *"INCOMPLETE: "* ]]
	# One alone looks as before to every verb.
	"$rtl" import -o one.db overlap.db
	for verb in summary timeline collectives tree diagnose outstanding; do
		"$rtl" $verb overlap.db >before
		"$rtl" $verb one.db >after
		diff before after
	done
	# Sessions of one name are told apart, whatever the others are called.
	cp overlap.db twin.db
	sqlite3 twin.db "UPDATE rtl_session SET name = 'job'; INSERT INTO rtl_session (id, name, uid, start_ns, start_realtime_ns)
		VALUES (2, 'job-2', 0, 0, 0)"
	cp plain.db job.db
	sqlite3 job.db "UPDATE rtl_session SET name = 'job'"
	"$rtl" import -o jobs.db job.db twin.db
	[ "$(sql jobs.db 'SELECT group_concat(name) FROM (SELECT name FROM rtl_session ORDER BY id)')" = "job,job-3,job-2" ]
	# What another tool recorded, beside it.
	"$rtl" import --append -o one.db "$traces/hta_triton.json.gz"
	run -0 --separate-stderr "$rtl" summary one.db
	[[ ${lines[0]} == *"imported: 1 kernel; what PyTorch's profiler lost is unknown; complete: "* ]]
	# What one that was added had imported is in it once.
	"$rtl" import -o other.db "$traces/hta_triton.json.gz"
	cp one.db before.db
	run -1 --separate-stderr "$rtl" import --append -o one.db other.db
	[ "$stderr" = "rtl: other.db: has hta_triton.json.gz, as one.db has" ]
	cmp one.db before.db
	[ "$(echo one.db?*)" = "one.db?*" ]
}

@test "the tree has PyTorch's operations with their shapes over their kernels" {
	trace 0 1 2 >rank0.json
	"$rtl" import -o t.db rank0.json
	# Four shapes are four operations, twice each, with two kernels of 50.125 us.
	"$rtl" tree --csv t.db >tree.csv
	python3 - tree.csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
ops = sorted((r["name"], r["count"], r["kernels"], r["gpu_ns"]) for r in rows if r["kind"] == "op")
assert ops == [(f"aten::mm [[8, {n}], [{n}, 4]]", "2", "2", "100250") for n in (16, 17, 18, 19)], ops
assert sum(int(r["gpu_ns"]) for r in rows if r["kind"] == "kernel") == 8 * 50125
PY
	"$rtl" import -f -o t.db "$traces/tracelens_mi300_bert.json.gz"
	"$rtl" tree --json t.db | grep -q '"aten::addmm \[\['
}

@test "each kernel of a graph's launch has its own collective in every export" {
	python3 - >rank0.json <<'PY'
import json
call = {"ph": "X", "cat": "cuda_runtime", "name": "hipGraphLaunch", "pid": 7, "tid": 7}
events = [dict(call, ts=1000 * i, dur=5, args={"correlation": i}) for i in (1, 2)]
# The later kernel of each launch comes first, and the launches take turns.
for place in (2, 0, 1):
    for i in (1, 2):
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "pid": 0, "tid": 0,
                       "ts": 5000 + 10 * place + 5 * i, "dur": 2, "args": {
                           "device": 0, "stream": 0, "correlation": i, "Collective name": "allreduce", "dtype": "Float",
                           "In msg nelems": 100 * i + place, "Out msg nelems": 100 * i + place, "Group size": 2,
                           "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 10 * i + place}})
print(json.dumps({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}))
PY
	"$rtl" import -o t.db rank0.json
	run -0 --separate-stderr "$rtl" export --csv csv --torch torch --perfetto t.pftrace t.db
	run -1 grep "share a launch" <<<"$stderr"
	python3 - csv/kernels.csv torch/rank0_trace.json <<'PY'
import csv, json, sys
want = sorted((10 * i + place, 4 * (100 * i + place), 5000000 + 10000 * place + 5000 * i) for i in (1, 2) for place in range(3))
rows = list(csv.DictReader(open(sys.argv[1])))
assert sorted((int(r["seq"]), int(r["bytes"]), int(r["start_ns"])) for r in rows) == want, rows
kernels = [e["args"] for e in json.load(open(sys.argv[2]))["traceEvents"] if e.get("cat") == "kernel"]
assert sorted((k["Seq"], 4 * k["In msg nelems"]) for k in kernels) == [w[:2] for w in want], kernels
PY
	"$rtl" import -o back.db torch/rank0_trace.json
	collectives="SELECT op, comm, comm_rank, comm_size, seq, count, bytes, datatype, correlation_id FROM rtl_collective ORDER BY seq"
	[ "$(sql t.db "$collectives")" = "$(sql back.db "$collectives")" ]
}

@test "FLOPs, bytes and categories of operations in real traces are those that TraceLens reports" {
	for name in $(cut -f1 "$traces/costs.tsv" | grep gz | sort -u); do
		"$rtl" import -f -o t.db "$traces/$name"
		"$rtl" tree --json t.db >tree.json
		python3 "$here/check_costs.py" tree.json "$traces/costs.tsv" "$name"
	done
	# A product of 2,199 GFLOP in 3.749 ms, on an MI300X, which does 1,307.4 TFLOP/s.
	"$rtl" import -f -o t.db "$traces/tracelens_compile.json.gz"
	"$rtl" tree t.db >tree.txt
	grep -q "TFLOP/s *GB/s *PEAK %" tree.txt
	grep -Eq "^ *3\.749 .* 586\.5 +375\.9 +44\.9$" tree.txt
	# Without shapes there is no cost, and no column for it.
	"$rtl" import -f -o t.db "$traces/hta_alexnet.json.gz"
	"$rtl" tree t.db >tree.txt
	run -1 grep "TFLOP/s" tree.txt
}

@test "whatif says what an import lacks, not how rtl would have recorded it" {
	"$rtl" import -o t.db "$traces/hta_alexnet.json.gz"
	run -4 --separate-stderr "$rtl" whatif t.db
	[ -z "$output" ]
	[[ $stderr == *"t.db: "*" queues, and what PyTorch's profiler recorded does not tell which of them waits for which: the events that streams wait for are missing" ]]
	[[ $stderr != *--mode* ]]
}
