#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl export: what other viewers get, compared with the database row by row.
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture SCRIPT KIND
	python3 "$here/$1.py" "$2" "$here/../../collectord/db/schema" "$2.db"
}

check_perfetto() {
	python3 "$here/check_perfetto.py" "$@"
}

compare() {
	python3 "$here/compare_chrome_json.py" "$@"
}

@test "every kernel of a real run is in the Chrome JSON once, to the nanosecond" {
	$rtl run -q -o t.db --device soft -- "$demo" --ranks 2 --steps 3
	run -0 --separate-stderr "$rtl" export --chrome-json t.json t.db
	[ -z "$output" ]
	grep -Eq '^rtl: wrote t.json \([0-9.]+ MB\): ' <<<"$stderr"
	kernels=$(sql t.db 'SELECT count(start) FROM rocpd_op')
	[ "$kernels" -gt 0 ]
	[[ $(compare t.db t.json) == "kernel_dispatch $kernels, "* ]]
	jq -e '.otherData | .simulated and .complete and (.line | startswith("SIMULATED complete: "))' t.json
	jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] | length > 0 and all(startswith("SIMULATED rank "))' t.json
	[ "$(stat -c %a t.json)" = "$(printf '%o' $((0666 & ~$(umask))))" ]
	# One rank and one GPU of it.
	gpu=$(sql t.db 'SELECT min(gpuId) FROM rocpd_op WHERE rank = 1')
	"$rtl" export --chrome-json one.json --ranks 1 --gpus "$gpu" t.db
	compare t.db one.json "p.rank = 1 AND gpuId = $gpu"
	jq -e '[.traceEvents[] | select(.cat == "kernel_dispatch").args | .rank, .agent] | unique == [1, "GPU '"$gpu"'"]' one.json
}

@test "every copy of a real run is in the Chrome JSON once, to the nanosecond" {
	SOFTGPU_COUNT=2 SOFTGPU_SCRIPT="" $rtl run -q -o t.db --mode full --device soft -- \
		"$RTL_BUILD/tests/shim/copies/rtl-copies" each 10 >out
	"$rtl" export --chrome-json t.json t.db
	copies=$(sql t.db 'SELECT count(start_ns) FROM rtl_copy')
	[ "$copies" -gt 0 ]
	[[ $(compare t.db t.json) == *"memory_copy $copies, "* ]]
	[ "$(jq '[.traceEvents[] | select(.cat == "memory_copy").args.copy_bytes] | add' t.json)" = \
		"$(sql t.db 'SELECT sum(bytes) FROM rtl_copy WHERE start_ns IS NOT NULL')" ]
}

@test "kernels that overlap on a queue, host calls and ranges nest in each tid" {
	fixture fixture_tree plain
	fixture fixture_tree deep
	fixture fixture_tree names
	fixture fixture_ranks overlap
	for kind in plain deep names overlap; do
		"$rtl" export --chrome-json $kind.json $kind.db
		compare $kind.db $kind.json | tee counts
		grep -Eq 'kernel_dispatch [1-9]' counts
	done
	compare plain.db plain.json | grep -Eq 'hip_api [1-9][0-9]*, roctx [1-9][0-9]*, arrows [1-9]'
	# Ten kernels that begin one after another and all end at once, as no barrier kept them apart.
	sqlite3 plain.db "UPDATE rtl_dispatch SET start = 6000000000 + rowid, duration = 1000000 - rowid"
	"$rtl" export -f --chrome-json plain.json plain.db
	compare plain.db plain.json
	jq -e '[.traceEvents[].args.name? | select(. == "queue 0 (overlapping 1)")] | length > 0' plain.json
}

@test "every row of a real run is in the Perfetto trace once, and its importer drops none" {
	$rtl run -q -o t.db --mode full --device soft -- "$demo" --ranks 2 --steps 3
	run -0 --separate-stderr "$rtl" export --perfetto t.pftrace t.db
	[ -z "$output" ]
	grep -Eq '^rtl: wrote t.pftrace \([0-9.]+ MB\): ' <<<"$stderr"
	kernels=$(sql t.db 'SELECT count(start) FROM rocpd_op')
	[ "$kernels" -gt 0 ]
	[[ $(check_perfetto t.db t.pftrace) == "kernels $kernels, "* ]]
	"$rtl" export --perfetto t.pftrace.gz t.db
	zcat t.pftrace.gz | cmp - t.pftrace
	gpu=$(sql t.db 'SELECT min(gpuId) FROM rocpd_op WHERE rank = 1')
	"$rtl" export --perfetto one.pftrace --ranks 1 --gpus "$gpu" t.db
	check_perfetto t.db one.pftrace "p.rank = 1 AND gpuId = $gpu"
	SOFTGPU_COUNT=2 SOFTGPU_SCRIPT="" $rtl run -q -o c.db --mode full --device soft -- \
		"$RTL_BUILD/tests/shim/copies/rtl-copies" each 10 >out
	"$rtl" export --perfetto c.pftrace c.db
	check_perfetto c.db c.pftrace | tee counts
	grep -Eq 'copies [1-9]' counts
}

@test "metrics are counters in Perfetto's and Chrome's traces and rows in CSV, and counted where they have no place" {
	fixture fixture_tree plain
	sqlite3 plain.db "INSERT INTO rocpd_string (id, string) VALUES (90001, 'loss'), (90002, 'pool_bytes \"x\"');
		INSERT INTO rtl_metric_base (process_id, marker_id, parent, tid, time_ns, name_id, value)
		SELECT p.id, 900000 + 10 * n.value + s.id % 10, NULL, 7, 5000000000 + n.value * 1000, s.id, 1.0 / (3 + n.value + p.id)
		FROM rtl_process p, rocpd_string s, generate_series(0, 4) n WHERE s.id > 90000"
	run -0 --separate-stderr "$rtl" export --perfetto t.pftrace --chrome-json t.json --csv t.csv --rocprofv3 t.v3 \
		--torch t.torch plain.db
	metrics=$(sql plain.db 'SELECT count(*) FROM rtl_metric')
	[ "$metrics" -ge 20 ]
	grep -q "^rtl: --rocprofv3: left out: .*$metrics metrics" <<<"$stderr"
	grep -q "^rtl: --torch: left out: .*$metrics metrics" <<<"$stderr"
	run -1 grep -E "^rtl: --(perfetto|chrome-json|csv): left out: .*metrics" <<<"$stderr"
	check_perfetto plain.db t.pftrace | grep -q "metrics $metrics,"
	compare plain.db t.json
	[ "$(jq '[.traceEvents[] | select(.ph == "C")] | length' t.json)" = "$metrics" ]
	python3 "$here/check_csv.py" plain.db t.csv | grep -q "metrics $metrics,"
}

@test "kernels that overlap, host calls and ranges are whole in the Perfetto trace" {
	fixture fixture_tree plain
	fixture fixture_tree deep
	fixture fixture_tree names
	fixture fixture_ranks overlap
	fixture fixture hostile
	fixture fixture lossy
	sqlite3 plain.db "UPDATE rtl_dispatch SET start = 6000000000 + rowid, duration = 1000000 - rowid"
	for kind in plain deep names overlap hostile lossy; do
		"$rtl" export --perfetto $kind.pftrace $kind.db
		check_perfetto $kind.db $kind.pftrace | tee $kind.counts
		grep -Eq 'kernels [1-9]' $kind.counts
	done
	grep -Eq 'calls [1-9][0-9]*, launches [1-9][0-9]*, ranges [1-9]' plain.counts
}

@test "files of PyTorch's profiler, of rocprofv3 and of CSV have every row that they have a place for" {
	$rtl run -q -o run.db --mode full --device soft -- "$demo" --ranks 2 --steps 3
	fixture fixture_tree plain
	fixture fixture hostile
	fixture fixture lossy
	fixture fixture_ranks overlap
	for kind in run plain hostile lossy overlap; do
		# In one reading of the file.
		run -0 --separate-stderr "$rtl" export --torch torch.$kind --rocprofv3 rocprofv3.$kind --csv csv.$kind $kind.db
		[ -z "$output" ]
		for format in torch rocprofv3 csv; do
			python3 "$here/check_$format.py" $kind.db $format.$kind | tee counts
			grep -Eq 'kernels [1-9]' counts
			echo "$kind $format $(cat counts)" >>all
		done
	done
	[ "$(ls torch.run)" = "$(printf 'rank0_trace.json\nrank1_trace.json')" ]
	[ "$(ls rocprofv3.run)" = "$(printf 'rank0_results.json\nrank1_results.json')" ]
	# Host calls are linked; what has none has its doorbell.
	grep -Eq '^plain torch .* calls [1-9][0-9]*, ranges [1-9][0-9]*, doorbells [1-9]' all
	grep -Eq '^run torch .* copies [1-9].* doorbells [1-9]' all
	"$rtl" export --torch two --ranks 1 plain.db
	[ "$(ls two)" = rank1_trace.json ]
}

# bats test_tags=apart
@test "databases of rocmProfileData and rocprofiler-sdk have every row, and their views lose none" {
	$rtl run -q -o run.db --mode full --device soft -- "$demo" --ranks 2 --steps 3
	fixture fixture_tree plain
	fixture fixture_ranks overlap
	fixture fixture hostile
	fixture fixture lossy
	for kind in run plain overlap hostile lossy; do
		run -0 --separate-stderr "$rtl" export --rpd $kind.rpd --rocpd $kind.rocpd.db $kind.db
		[ -z "$output" ]
		python3 "$here/check_rpd.py" $kind.db $kind.rpd | tee counts
		python3 "$here/check_rocpd.py" $kind.db $kind.rocpd.db | tee -a counts
		[ "$(grep -Ec 'kernels [1-9]' counts)" -eq 2 ]
		sed "s/^/$kind /" counts >>all
	done
	grep -Eq '^plain .* calls [1-9][0-9]*, ranges [1-9][0-9]*, links [1-9]' all
	grep -Eq '^overlap .* collectives [1-9]' all
	grep -Eq '^run .* copies [1-9]' all
	# The same process has the same guid in each export, and no journal is left.
	"$rtl" export -f --rocpd again.db run.db
	[ "$(sql again.db 'SELECT group_concat(guid) FROM rocpd_info_process')" = \
		"$(sql run.rocpd.db 'SELECT group_concat(guid) FROM rocpd_info_process')" ]
	[ -z "$(ls -d ./*-journal ./*.XXXXXX 2>/dev/null)" ]
	# A rank and a GPU of it.
	gpu=$(sql run.db 'SELECT min(gpuId) FROM rocpd_op WHERE rank = 1')
	"$rtl" export --ranks 1 --gpus "$gpu" --rpd one.rpd --rocpd one.db run.db
	kernels=$(sql run.db "SELECT count(*) FROM rocpd_op WHERE rank = 1 AND gpuId = $gpu AND start IS NOT NULL")
	[ "$(sql one.db 'SELECT count(*) FROM kernels')" -eq "$kernels" ]
	[ "$(sql one.rpd "SELECT count(*) FROM op WHERE opType = 'KernelExecution'")" -eq "$kernels" ]
}

# bats test_tags=apart
@test "AORTA's metrics are the figures of rtl timeline, with the losses that the program told" {
	$rtl run -q -o run.db --device soft -- "$demo" --ranks 2 --steps 4
	fixture fixture clean
	# A loss in the middle of each step of rank 0.
	"$rtl" timeline --json --segments run.db >timeline.json
	sqlite3 run.db "INSERT INTO rocpd_string (string) VALUES ('loss')"
	jq -r '.rows[] | select(.rank == 0 and .step != null) | [.process_id, .step, (.start_ns + .end_ns) / 2 | floor] | @csv' \
		timeline.json >steps
	[ "$(wc -l <steps)" -eq 4 ]
	while IFS=, read -r process step time; do
		sqlite3 run.db "INSERT INTO rtl_metric_base VALUES ($process, 100000 + $step, NULL, 1, $time,
			(SELECT max(id) FROM rocpd_string), 2.5 - $step)"
	done <steps
	run -0 --separate-stderr "$rtl" export --aorta metrics run.db
	[ -z "$output" ]
	session=$(sql run.db 'SELECT name FROM rtl_session')
	[ "$(ls metrics | sort | tr '\n' ' ')" = "rank_00_metrics.jsonl rank_01_metrics.jsonl ${session}_timeline.svg summary.json " ]
	[ "$(python3 "$here/check_aorta.py" timeline.json metrics)" = "steps 8, losses 4" ]
	[ "$(jq -s -c '[.[] | [.step, .loss]]' metrics/rank_00_metrics.jsonl)" = "[[0,2.5],[1,1.5],[2,0.5],[3,-0.5]]" ]
	"$rtl" export -f --aorta metrics --ranks 1 run.db
	[ "$(ls metrics/rank*)" = metrics/rank_01_metrics.jsonl ]
	"$rtl" timeline --json --segments clean.db >timeline.json
	"$rtl" export --aorta clean clean.db
	python3 "$here/check_aorta.py" timeline.json clean
}

# summary.json has what overlap_report.py makes of the lines of each run, which check_aorta.py has checked.
# bats test_tags=apart
@test "AORTA's summary compares two runs by their labels" {
	local kind
	python3 "$here/make_torch_trace.py" 0 1 >rank0.json
	"$rtl" import -o base.db rank0.json
	$rtl run -q -o test.db --device soft -- "$demo" --ranks 2 --steps 4
	for kind in base test; do
		"$rtl" timeline --json --segments $kind.db >timeline.json
		"$rtl" export --aorta $kind --label $kind $kind.db
		python3 "$here/check_aorta.py" timeline.json $kind
	done
	run -0 --separate-stderr "$rtl" export --aorta both --label base --label test base.db test.db
	[ "$(ls both | sort | tr '\n' ' ')" = "base_timeline.svg summary.json test_timeline.svg " ]
	jq -e --slurpfile base base/summary.json --slurpfile test test/summary.json '
		.datasets == $base[0].datasets + $test[0].datasets and
		.comparison == {reference_overlap_ratio: .datasets.base.overlap_ratio,
			candidate_overlap_ratio: .datasets.test.overlap_ratio,
			ratio_delta: (.datasets.test.overlap_ratio - .datasets.base.overlap_ratio)} and
		.datasets.base.overlap_ratio == 0 and .datasets.test.overlap_ratio > 0' both/summary.json
	# A point for each step of each rank, in their order.
	python3 - both/test_timeline.svg <<-END
		import sys, xml.etree.ElementTree as tree
		lines = [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
		         for line in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}polyline")]
		assert [len(line) for line in lines] == [8, 8] and all(line == sorted(line, key=lambda p: p[0]) for line in lines)
	END
	# Of three there is no pair.
	cp test.db other.db
	"$rtl" export --aorta three --label a --label b --label c base.db test.db other.db
	jq -e '(.datasets | keys) == ["a", "b", "c"] and (has("comparison") | not)' three/summary.json
	run -1 --separate-stderr "$rtl" export --aorta twice base.db base.db
	[ "$stderr" = "rtl: --aorta: base is the name of two runs; --label gives them others" ]
	run -2 --separate-stderr "$rtl" export --csv twice base.db test.db
	[ "$stderr" = "rtl: export: one FILE or SESSION at a time; --aorta alone compares several" ]
	run -2 --separate-stderr "$rtl" export --aorta twice --label one base.db test.db
	[ "$stderr" = "rtl: export: --label: one for each FILE, or none" ]
	run -2 --separate-stderr "$rtl" export --aorta twice --label a/b base.db
	[ "$stderr" = "rtl: export: --label=a/b: is to be the beginning of a file's name" ]
	[ "$(echo twice*)" = "twice*" ]
}

@test "rtl run writes its record in the formats that it is asked for when the job has ended" {
	run -0 --separate-stderr "$rtl" run -o t.db --device soft --export perfetto=t.pftrace.gz --export csv=csv -- \
		"$demo" --ranks 1 --steps 2
	check_perfetto t.db t.pftrace.gz
	python3 "$here/check_csv.py" t.db csv
	# The last line is the verdict all the same.
	grep -Eq '^SIMULATED complete: ' <<<"${stderr_lines[-1]}"
	# Mistakes, and what is there, are found before the job starts.
	run -125 --separate-stderr "$rtl" run -o new.db --export perfetto=t.pftrace.gz touch started
	[ "$stderr" = "rtl: t.pftrace.gz: exists; -f overwrites it" ]
	run -125 --separate-stderr "$rtl" run -o new.db --export perfeto=p touch started
	grep -q '^rtl: run: --export' <<<"$stderr"
	run -125 --separate-stderr "$rtl" run -o new.db --export perfetto touch started
	[ "$stderr" = "rtl: run: --export=perfetto: is no FORMAT=OUT, as in perfetto=job.pftrace" ]
	[ ! -e started ]
	[ ! -e new.db ]
	# The exit status is the job's.
	run -7 "$rtl" run -f -o t.db --device soft --export chrome-json=none/t.json -- sh -c 'exit 7'
}

has_database_alone() {
	[ "$(echo run*)" = "run run.db" ]
}

@test "rtl trace leaves a summary and a Chrome trace beside its database, as rocm-trace-lite does" {
	run -0 --separate-stderr "$rtl" trace --device soft -o trace.db "$demo" --ranks 1 --steps 2
	grep -Eq '^SIMULATED complete: ' <<<"${stderr_lines[-1]}"
	"$rtl" summary trace.db | cmp - trace_summary.txt
	zcat trace.json.gz >trace.json
	compare trace.db trace.json
	[ "$(echo trace*)" = "trace.db trace.json trace.json.gz trace_summary.txt" ]
	# They are of the newest one; the format that was asked for is not written twice.
	echo old >trace_summary.txt
	run -7 --separate-stderr "$rtl" trace --device soft -o trace.db --export chrome-json=other.json -- \
		sh -c '"$0" --ranks 1 --steps 3; exit 7' "$demo"
	"$rtl" summary trace.db | cmp - trace_summary.txt
	compare trace.db other.json
	zcat trace.json.gz | cmp - trace.json
	# What cannot be written changes neither the record nor the exit status.
	mkdir rest_summary.txt rest.json.gz
	run -7 --separate-stderr "$rtl" trace --device soft -o rest.db sh -c 'exit 7'
	grep -Eq '^rtl: no summary beside .*rest.db; rtl summary shows it$' <<<"$stderr"
	grep -Eq '^rtl: --export: failed; ' <<<"$stderr"
	[ -s rest.db ]
	# rtl run leaves the database alone. Its collector, which ends after it, removes its lock.
	"$rtl" run --device soft -o run.db "$demo" --ranks 1 --steps 1
	wait_until has_database_alone
}

@test "kernels that a graph replays have the collective that was captured into it" {
	fixture fixture_ranks graphs
	run -0 --separate-stderr "$rtl" export --csv csv --torch torch --perfetto t.pftrace graphs.db
	check_perfetto graphs.db t.pftrace
	# Of 12 launches of 4 ranks each: an all-reduce, a small one, a group of two, whose first it is; and one outside.
	python3 - csv/kernels.csv torch <<'PY'
import collections, csv, json, pathlib, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["collective"]]
found = collections.Counter((r["rank"], r["collective"], r["seq"], r["bytes"]) for r in rows)
want = {("ncclAllReduce", "0", "1048576"): 12, ("ncclAllReduce", "1", "2048"): 12, ("ncclAllReduce", "2", "4096"): 12}
assert all(found[str(rank), *key] == n for rank in range(4) for key, n in want.items()), found
assert len(rows) == 4 * 37, len(rows)
kernels = [e["args"] for path in pathlib.Path(sys.argv[2]).iterdir() for e in json.load(open(path))["traceEvents"]
           if e.get("cat") == "kernel" and "Collective name" in e["args"]]
assert collections.Counter(k["Seq"] for k in kernels) == {0: 48, 1: 48, 2: 48, 4: 4}, len(kernels)
assert sum(k.get("rtl collectives in group", 1) == 2 for k in kernels) == 48
PY
	grep -q "^rtl: --torch: left out: 48 collectives that share a launch with another one$" <<<"$stderr"
}

@test "each format's own metadata says what is SIMULATED and INCOMPLETE" {
	fixture fixture lossy
	"$rtl" export --perfetto t.pftrace --chrome-json t.json --torch t.torch --rocprofv3 t.v3 --csv t.csv --rpd t.rpd \
		--rocpd t.rocpd --aorta t.aorta lossy.db
	check_perfetto lossy.db t.pftrace
	says='select(.simulated == true and .complete == false and (.line | startswith("SIMULATED INCOMPLETE: ")))'
	jq -e ".otherData | $says" t.json >out
	jq -e ".rtl | $says" t.torch/rank0_trace.json >out
	jq -e "..|objects| select(.rtl?) | .rtl | $says" t.v3/rank0_results.json >out
	jq -e ".rtl[\"job-1\"] | $says" t.aorta/summary.json >out
	grep -q '^1,0,2,.*,1,0,"SIMULATED INCOMPLETE: ' t.csv/processes.csv
	for file in t.rpd t.rocpd; do
		[ "$(sqlite3 $file "SELECT DISTINCT substr(value, 1, 22) FROM rocpd_metadata WHERE tag IN ('simulated', 'completeness')
			ORDER BY 1")" = $'1\nSIMULATED INCOMPLETE: ' ]
	done
}

@test "any rows are in every format once, of databases of random rows" {
	for seed in $(seq "${RTL_TEST_LONG:+20}3"); do
		rm -rf export && mkdir export
		fixture fixture_random "$seed"
		mv "$seed.db" random.db
		"$rtl" export --perfetto export/pftrace --chrome-json export/json --torch export/torch --csv export/csv \
			--rocprofv3 export/rocprofv3 --rpd export/rpd --rocpd export/rocpd random.db
		check_perfetto random.db export/pftrace
		compare random.db export/json
		for format in torch rocprofv3 csv rpd rocpd; do
			python3 "$here/check_$format.py" random.db export/$format
		done
		rm random.db
	done
}

# Imports have what no node has: several processes with the pid and the start of another.
# bats test_tags=apart
@test "processes of equal rank, pid and start are whole and apart in every format" {
	local name has
	python3 "$here/make_torch_trace.py" 0 1 2 >rank0.json
	sed 's/kernel_0/other_0/' rank0.json >again.json
	sed 's/kernel_0/third_0/' rank0.json >third.json
	"$rtl" import -o ranked.db rank0.json again.json third.json
	for name in rank0 again third; do jq 'del(.distributedInfo)' $name.json >$name-alone.json; done
	# rank0-alone would have the rank of its name.
	mv rank0-alone.json alone.json
	"$rtl" import -o unranked.db alone.json again-alone.json third-alone.json
	for name in ranked unranked; do
		"$rtl" export --torch $name.torch --rocprofv3 $name.v3 --rocpd $name.rocpd --rpd $name.rpd \
			--perfetto $name.pftrace $name.db
		[ "$(jq -s '[.[].traceEvents[] | select(.cat == "kernel")] | length' $name.torch/*)" = 24 ]
		[ "$(jq -s '[.[]."rocprofiler-sdk-tool"[].buffer_records.kernel_dispatch[]] | length' $name.v3/*)" = 24 ]
		[ "$(sql $name.rocpd 'SELECT count(*), count(DISTINCT guid) FROM rocpd_kernel_dispatch')" = "24|3" ]
		[ "$(sql $name.rpd "SELECT pid, count(*) FROM rocpd_api_ops JOIN rocpd_api a ON a.id = api_id GROUP BY 1" |
			wc -l)" = 3 ]
	done
	[ "$(cd ranked.torch && echo *)" = "rank0_pid4000_p3_trace.json rank0_pid4000_trace.json rank0_trace.json" ]
	[ "$(cd unranked.v3 && echo *)" = "pid4000_p2_results.json pid4000_p3_results.json pid4000_results.json" ]
}

# bats test_tags=apart
@test "numbers that no recorder writes are left out of every format, and counted" {
	fixture fixture_tree plain
	fixture fixture_ranks overlap
	least=-9223372036854775808 most=9223372036854775807
	sqlite3 plain.db "UPDATE rtl_shape SET gridX = $least, workgroupX = $most WHERE id = 1;
		UPDATE rtl_dispatch SET submit = $least, call = $least, tid = $most, seq = $least WHERE rowid = 1;
		UPDATE rtl_dispatch SET call = $most, marker = $least WHERE rowid = 2;
		UPDATE rtl_dispatch SET start = $most, duration = 1 WHERE rowid = 3;
		UPDATE rtl_shape SET queueId = $most, gpuId = $least WHERE id = 2;
		UPDATE rtl_process SET pid = $least WHERE id = 2;
		UPDATE rtl_call_base SET tid = $least, parent = $most WHERE id % 2;
		UPDATE rtl_marker_base SET tid = $most WHERE id % 2"
	sqlite3 overlap.db "UPDATE rtl_collective_base SET count = $most, comm_size = $most, comm = $least;
		UPDATE rtl_process SET world_size = $least, rank = $most WHERE id = 1"
	for kind in plain overlap; do
		rm -rf export && mkdir export
		run -0 --separate-stderr "$rtl" export --perfetto export/pftrace --chrome-json export/json \
			--torch export/torch --csv export/csv --rocprofv3 export/rocprofv3 --rpd export/rpd --rocpd export/rocpd $kind.db
		jq -e '.traceEvents | length > 0' export/json
		for file in export/torch/* export/rocprofv3/*; do
			jq -e . "$file" >parsed
		done
		[ "$kind" = overlap ] || grep -Eq '^rtl: --csv: left out: .*rows with impossible times or numbers' <<<"$stderr"
	done
}

@test "a folder with files of others is never replaced, one of such files with -f alone" {
	fixture fixture clean
	"$rtl" export --csv out clean.db
	run -1 --separate-stderr "$rtl" export --csv out clean.db
	[ "$stderr" = "rtl: out: exists and is not empty; -f overwrites it" ]
	echo old >out/kernels.csv
	"$rtl" export -f --csv out clean.db
	python3 "$here/check_csv.py" clean.db out
	touch out/notes
	run -1 --separate-stderr "$rtl" export -f --csv out clean.db
	[ "$stderr" = "rtl: out: has a file that is not of such an export, notes; name another folder" ]
	mkdir empty
	"$rtl" export --csv empty/ clean.db
	python3 "$here/check_csv.py" clean.db empty
	run -1 --separate-stderr "$rtl" export --csv clean.db clean.db
	[ "$stderr" = "rtl: clean.db: exists and is not a folder; name another one" ]
	# Nothing of either is there where one cannot be written.
	run -1 "$rtl" export --csv fresh --chrome-json none/out.json clean.db
	[ "$(ls -d ./fresh* ./out* | tr '\n' ' ')" = "./out " ]
}

@test "what Chrome JSON has no place for is counted, and an incomplete file says so" {
	fixture fixture lossy
	run -0 --separate-stderr "$rtl" export --chrome-json lossy.json lossy.db
	grep -q '^rtl: left out: 1 kernels without times, 1 kernels that had not ended$' <<<"$stderr"
	grep -q '^rtl: SIMULATED INCOMPLETE: ' <<<"$stderr"
	compare lossy.db lossy.json
	jq -e '.otherData | (.complete | not) and .left_out.untimed_kernels == 1 and .left_out.outstanding_kernels == 1' lossy.json
	jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] | all(contains("INCOMPLETE "))' lossy.json
	run -3 "$rtl" export -f --strict --chrome-json lossy.json lossy.db
	# A row is gone that the ledger has.
	fixture fixture clean
	cp clean.db missing.db
	sqlite3 missing.db "DELETE FROM rtl_dispatch WHERE rowid = 7"
	run -0 --separate-stderr "$rtl" export --chrome-json missing.json missing.db
	grep -q '^rtl: SIMULATED INCOMPLETE: .*1 row missing' <<<"$stderr"
	jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] | all(contains("INCOMPLETE "))' missing.json
	# Times and numbers that no event can have.
	sqlite3 clean.db "UPDATE rtl_dispatch SET start = -5 WHERE rowid = 1;
		UPDATE rtl_dispatch SET duration = 9223372036854775807 WHERE rowid = 2"
	run -0 --separate-stderr "$rtl" export --chrome-json clean.json clean.db
	grep -q '^rtl: left out: 2 rows with impossible times or numbers$' <<<"$stderr"
	# Names that are no UTF-8, or would end a text.
	fixture fixture hostile
	"$rtl" export --chrome-json hostile.json hostile.db
	compare hostile.db hostile.json
}

@test "an export is written whole or not at all" {
	fixture fixture clean
	"$rtl" export --chrome-json out.json clean.db
	cp out.json before
	run -1 --separate-stderr "$rtl" export --chrome-json out.json clean.db
	[ "$stderr" = "rtl: out.json: exists; -f overwrites it" ]
	run -1 --separate-stderr "$rtl" export -f --chrome-json out.json missing.db
	[ "${#stderr_lines[@]}" -eq 1 ]
	cmp out.json before
	cp clean.db damaged.db
	truncate -s 40000 damaged.db
	run -1 --separate-stderr "$rtl" export -f --chrome-json out.json damaged.db
	[ "${#stderr_lines[@]}" -eq 1 ]
	cmp out.json before
	cp clean.db same.db
	run -1 --separate-stderr "$rtl" export -f --chrome-json clean.db clean.db
	[ "$stderr" = "rtl: clean.db: is the database; name another file" ]
	cmp clean.db same.db
	"$rtl" export --chrome-json - clean.db >stdout.json
	cmp stdout.json before
	[ "$(ls -d ./*.json* | tr '\n' ' ')" = "./out.json ./stdout.json " ]
}

@test "no export replaces a recording, even with -f, and one of databases replaces its own file" {
	fixture fixture clean
	cp clean.db other.db && cp clean.db same.db
	for option in perfetto chrome-json rpd rocpd; do
		for force in "" -f; do
			run -1 --separate-stderr "$rtl" export $force --$option other.db clean.db
			[ "$stderr" = "rtl: other.db: is a recording of rtl; name another file, or remove it by rtl rm" ]
		done
	done
	run -1 --separate-stderr "$rtl" export -f --csv other.db clean.db
	[ "$stderr" = "rtl: other.db: exists and is not a folder; name another one" ]
	run -1 --separate-stderr "$rtl" report -f --html other.db clean.db
	[ "$stderr" = "rtl: other.db: is a recording of rtl; name another file, or remove it by rtl rm" ]
	run -125 --separate-stderr "$rtl" run -f -o new.db --export perfetto=other.db --device soft -- true
	[ "$stderr" = "rtl: other.db: is a recording of rtl; name another file, or remove it by rtl rm" ]
	[ ! -e new.db ]
	cmp other.db same.db
	for option in rpd rocpd; do
		"$rtl" export --$option out.$option clean.db
		"$rtl" export -f --$option out.$option clean.db
	done
}

has_begun() {
	compgen -G 'csv.*/kernels.csv' && compgen -G 'out.rpd.*'
}

@test "an export that a signal ends leaves nothing behind" {
	local signal pid
	fixture fixture clean
	mkfifo reader
	exec 4<>reader
	mkdir csv
	touch csv/kernels.csv out.rpd
	for signal in INT TERM HUP; do
		# The program waits for a reader that takes nothing.
		env --default-signal=INT "$rtl" export -f --chrome-json - --csv csv --rpd out.rpd clean.db >reader 2>/dev/null 3>&- &
		pid=$!
		wait_until has_begun
		ends_by $signal "$pid"
		[ "$(echo csv* out.rpd*)" = "csv out.rpd" ]
		[ "$(stat -c %s csv/kernels.csv out.rpd | tr '\n' ' ')" = "0 0 " ]
	done
	# A signal that the program ignores ends nothing.
	(
		trap '' HUP
		"$rtl" export -f --chrome-json - --csv csv clean.db >reader 2>/dev/null 3>&- 4>&- &
		echo $! >pid
	)
	wait_until compgen -G 'csv.*/kernels.csv'
	kill -HUP "$(<pid)"
	cat <reader 4>&- >/dev/null &
	exec 4>&-
	wait_until test -s csv/kernels.csv
}

@test "an export may be compressed, or of a part of the time" {
	fixture fixture clean
	"$rtl" export --chrome-json out.json clean.db
	"$rtl" export --chrome-json out.json.gz clean.db
	gzip -t out.json.gz
	zcat out.json.gz | cmp - out.json
	# The session begins at 5 s; a kernel begins every 0.1 ms.
	"$rtl" export --chrome-json part.json --from 0.05 --to 0.06 clean.db
	compare clean.db part.json 'o."end" >= 5050000000 AND o.start <= 5060000000' | tee counts
	kernels=$(sql clean.db 'SELECT count(*) FROM rocpd_op WHERE "end" >= 5050000000 AND start <= 5060000000')
	[ "$kernels" -gt 100 ]
	grep -q "^kernel_dispatch $kernels," counts
}

@test "an export that is asked for wrongly is refused in one line" {
	fixture fixture clean
	run -2 --separate-stderr "$rtl" export clean.db
	grep -q '^rtl: export: needs a format: .*--chrome-json OUT' <<<"$stderr"
	[ "${#stderr_lines[@]}" -eq 1 ]
	run -2 --separate-stderr "$rtl" export --csv - clean.db
	[ "$stderr" = "rtl: export: --csv=-: writes more than a stream; name a folder" ]
	run -2 --separate-stderr "$rtl" export --chrome-json a --chrome-json b clean.db
	[ "$stderr" = "rtl: export: --chrome-json: is given twice" ]
	run -2 --separate-stderr "$rtl" export --chrome-json out.json --from 2 --to 1 clean.db
	[ "$stderr" = "rtl: export: --to lies before --from" ]
	for option in --ranks=x --gpus=3-1; do
		run -2 --separate-stderr "$rtl" export $option --chrome-json out.json clean.db
		[ "$stderr" = "rtl: export: $option: not a list of numbers, as in 0,3-5" ]
	done
	# What cannot be made ends the others, too.
	for option in perfetto chrome-json torch rocprofv3 rpd rocpd aorta; do
		run -1 --separate-stderr "$rtl" export --csv csv --$option missing/out clean.db
		[ "$stderr" = "rtl: missing/out: cannot write: No such file or directory" ]
	done
	run -0 "$rtl" export --help
	[ "$(ls)" = "$(printf 'clean.db\nrun\nstate\ntruth')" ]
}
