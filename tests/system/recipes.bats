#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# docs/recipes.md and the view that it reads.
load lib.bash
bats_require_minimum_version 1.5.0

# The page's blocks that tests can run, as files: 1.sh, 2.sh, 3.python, ...
extract() {
	awk '/^```[a-z]/ { name = "block-" ++count "." substr($0, 4); next }
		/^```/ { name = ""; next }
		name != "" { print > name }' "$here/../../docs/recipes.md"
	mkdir untested
	grep -l '^# untested$' block-* | xargs mv -t untested
}

recorded() {
	PATH=$RTL_BUILD/bin:$PATH
	"$rtl" run -q --device soft -o job.db -- "$demo" --ranks 2 --steps 6 >out
}

@test "every recipe of docs/recipes.md runs, and says what rtl says" {
	recorded
	extract
	[ "$(echo block-*)" = "block-1.sh block-2.sh block-3.python block-4.python" ]
	[ "$(ls untested | wc -l)" -eq 2 ]
	# Time by category and rank.
	sh -e block-1.sh >categories.csv
	"$rtl" summary --by category --json job.db >summary.json 2>/dev/null
	diff <(jq -r '.categories[] | "\(.category),\(.calls),\(.total_ns)"' summary.json | sort) \
		<(awk -F, 'NR > 1 { calls[$2] += $3; total[$2] += $4 }
			END { for (name in calls) printf "%s,%d,%d\n", name, calls[name], total[name] }' categories.csv | sort)
	# Gaps.
	sh -e block-2.sh >gaps.csv
	[ "$(wc -l <gaps.csv)" -eq 21 ]
	[ "$(awk -F, 'NR > 1 && NR <= 20 { print $4 }' gaps.csv)" = "$(awk -F, 'NR > 1 && NR <= 20 { print $4 }' gaps.csv | sort -rn)" ]
	# Quantiles.
	python3 block-3.python >quantiles.csv
	python3 - <<-'END'
		import csv, json, sqlite3, statistics
		want = {}
		for name, ns in sqlite3.connect("job.db").execute("SELECT k.name, o.\"end\" - o.start FROM rocpd_op o "
		                                                "JOIN rtl_kernel k ON k.id = o.description_id"):
		    want.setdefault(name, []).append(ns)
		rows = {r["name"]: r for r in csv.DictReader(open("quantiles.csv", newline="")) if r["name"]}
		assert rows.keys() == want.keys(), rows.keys() ^ want.keys()
		for name, values in want.items():
		    assert float(rows[name]["count"]) == len(values), name
		    assert abs(float(rows[name]["50%"]) - statistics.median(values)) < 1, name
	END
	# The step of each kernel.
	python3 block-4.python >steps.csv
	diff <("$rtl" timeline --csv job.db 2>/dev/null | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["step"] and int(r["kernels"]):
        print(r["process_id"], r["gpuId"], int(r["step"]), int(r["kernels"]))' | sort) \
		<(python3 -c 'import csv
for r in csv.DictReader(open("steps.csv", newline="")):
    if r["process_id"]:
        print(r["process_id"], r["gpuId"], int(float(r["step"])), int(float(r["count"])))' | sort)
	[ "$(wc -l <steps.csv)" -ge 12 ]
}

@test "the view kernel has a row a dispatch, with the time of day that its session's clocks give" {
	recorded
	[ "$(sql job.db 'SELECT count(*) FROM kernel')" = "$(sql job.db 'SELECT count(*) FROM rocpd_op')" ]
	[ "$(sql job.db 'SELECT count(*) FROM rocpd_op')" -gt 0 ]
	# The same columns by the normalised views.
	[ -z "$(sql job.db "SELECT o.rank, o.gpuId, o.queueId, k.name, k.category, o.start, o.\"end\", o.\"end\" - o.start,
			o.submit_ns, m.text, o.process_id
		FROM rocpd_op o LEFT JOIN rtl_kernel k ON k.id = o.description_id
		LEFT JOIN rtl_marker m ON m.process_id = o.process_id AND m.roctxId = o.roctxId
		EXCEPT SELECT rank, gpuId, queue, name, category, start_ns, end_ns, duration_ns, submit_ns, marker, process_id
		FROM kernel")" ]
	[ "$(sql job.db 'SELECT count(*) FROM kernel WHERE marker IS NOT NULL')" -gt 0 ]
	python3 - <<-'END'
		import sqlite3, datetime
		db = sqlite3.connect("job.db")
		db.execute("PRAGMA trusted_schema = OFF")
		offset, = db.execute("SELECT start_realtime_ns - start_ns FROM rtl_session").fetchone()
		for start, text in db.execute("SELECT start_ns, start_utc FROM kernel"):
		    second, rest = text.split(".")
		    whole = datetime.datetime.fromisoformat(second + "+00:00").timestamp()
		    assert rest.endswith("Z") and int(whole) * 10**9 + int(rest[:-1]) == start + offset, (start, text)
		db.execute("PRAGMA trusted_schema = ON")
		# What an imported file's times count from may be no clock, or that of the day itself.
		db.execute("INSERT INTO rtl_session_clock SELECT id, 'unknown' FROM rtl_session")
		assert db.execute("SELECT count(start_utc) FROM kernel").fetchone() == (0,)
		db.execute("UPDATE rtl_session_clock SET clock = 'realtime'")
		start, text = db.execute("SELECT start_ns, start_utc FROM kernel").fetchone()
		assert int(text[-10:-1]) == start % 10**9
		# A dispatch without times has no time of day either.
		db.execute("UPDATE rtl_dispatch SET start = NULL, duration = NULL WHERE rowid = 1")
		assert db.execute("SELECT count(*), count(start_utc) FROM kernel WHERE start_ns IS NULL").fetchone() == (1, 0)
	END
}
