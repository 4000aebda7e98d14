#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl report: the file that it writes, and the page in a real browser.
load lib.bash
bats_require_minimum_version 1.5.0

fixture() { # fixture KIND [FILE]
	python3 "$here/fixture.py" "$1" "$here/../../collectord/db/schema" "${2:-$1.db}"
}

ranks() { # ranks KIND [FILE]
	python3 "$here/fixture_ranks.py" "$1" "$here/../../collectord/db/schema" "${2:-$1.db}"
}

@test "a page is written whole or not at all" {
	fixture clean
	run -0 --separate-stderr "$rtl" report clean.db --html out.html
	[ -z "$output" ]
	grep -Eq '^rtl: wrote out.html \([0-9.]+ MB\): open it in any browser$' <<<"$stderr"
	[ "$(stat -c %a out.html)" = "$(printf '%o' $((0666 & ~$(umask))))" ]
	cp out.html before
	run -1 --separate-stderr "$rtl" report clean.db --html out.html
	[ "$stderr" = "rtl: out.html: exists; -f overwrites it" ]
	run -1 --separate-stderr "$rtl" report missing.db --html out.html -f
	[ "${#stderr_lines[@]}" -eq 1 ]
	cmp out.html before
	run -0 "$rtl" report clean.db --html out.html -f
	cmp out.html before
	run -1 --separate-stderr "$rtl" report clean.db --html clean.db -f
	[ "$stderr" = "rtl: clean.db: is one of the databases; name another page" ]
	# However it is named; what it is a name of is no file to be replaced either.
	mkdir state/rtl
	fixture clean state/rtl/job-1.db
	run -1 --separate-stderr "$rtl" report job-1 --html state/rtl/job-1.db -f
	[ "$stderr" = "rtl: state/rtl/job-1.db: is one of the databases; name another page" ]
	cmp clean.db state/rtl/job-1.db
	mkfifo pipe
	ln -s out.html link
	for name in pipe link; do
		run -1 --separate-stderr "$rtl" report clean.db --html $name -f
		[ "$stderr" = "rtl: $name: exists and is not a regular file; - is stdout" ]
	done
	[ -p pipe ]
	[ -L link ]
	mkdir folder
	run -1 --separate-stderr "$rtl" report clean.db --html folder -f
	[ "$stderr" = "rtl: folder: is a directory; name a file in it" ]
	run -1 --separate-stderr "$rtl" report clean.db --html nowhere/out.html
	[ "${#stderr_lines[@]}" -eq 1 ]
	"$rtl" report clean.db --html - >stdout.html
	cmp stdout.html before
	run -1 --separate-stderr "$rtl" report before --html x.html
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ "$(ls -d ./*.html* | tr '\n' ' ')" = "./out.html ./stdout.html " ]
}

@test "titles of a page say what the help of their verb says of them" {
	local verb title entry
	fixture clean
	"$rtl" report clean.db --html page.html
	for title in "summary P95 us" "summary BUSY %" "timeline HIDDEN %" "timeline IDLE FOR" "collectives SKEW us" "collectives LAST %"; do
		verb=${title%% *}
		entry=$(grep -m 1 -o "<th[^>]* title=[^>]*>${title#* }<" page.html | sed 's/.* title="\([^"]*\)".*/\1/')
		[[ $entry == *": "* ]]
		"$rtl" "$verb" --help | tr '\n' ' ' | grep -qF -- "$entry"
	done
}

@test "a page that was given no name lies beside its database, and overwrites nothing" {
	mkdir jobs.db state/rtl
	fixture clean jobs.db/a.db
	cp jobs.db/a.db jobs.db/plain
	cp jobs.db/a.db state/rtl/job-1.db
	run -0 --separate-stderr "$rtl" report jobs.db/a.db
	[ -z "$output" ]
	grep -Eq '^rtl: wrote jobs.db/a.html \([0-9.]+ MB\): open it in any browser$' <<<"$stderr"
	"$rtl" report jobs.db/a.db --html wanted.html
	cmp jobs.db/a.html wanted.html
	echo mine >jobs.db/a.html
	run -1 --separate-stderr "$rtl" report jobs.db/a.db
	[ "$stderr" = "rtl: jobs.db/a.html: exists; -f overwrites it" ]
	[ "$(cat jobs.db/a.html)" = mine ]
	run -0 "$rtl" report -f jobs.db/a.db
	cmp jobs.db/a.html wanted.html
	# A name that has no ending to be replaced; and a session, whose own folder is not the user's.
	run -0 "$rtl" report jobs.db/plain
	[ -s jobs.db/plain.html ]
	run -0 "$rtl" report job-1
	[ -s job-1.html ]
	run -1 --separate-stderr "$rtl" report missing.db
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ ! -e missing.html ]
	[ "$(echo state/rtl/*)" = state/rtl/job-1.db ]
}

@test "a rank is counted once, whichever process has inherited it" {
	fixture helper
	"$rtl" report helper.db --html - | grep -Fq '<dt>Ranks<dd>2 '
	# Of the other one; then of an unknown one.
	sqlite3 helper.db "UPDATE rtl_process SET rank = 1, attempt = 1 WHERE id = 3"
	"$rtl" report helper.db --html - | grep -Fq '<dt>Ranks<dd>2 '
	sqlite3 helper.db "UPDATE rtl_process SET rank = NULL"
	"$rtl" report helper.db --html - | grep -Fq '<dt>Processes<dd>3 '
}

@test "rtl report refuses bad options with one line" {
	fixture clean
	fixture lossy
	run -2 --separate-stderr "$rtl" report clean.db --html ''
	[ "$stderr" = "rtl: report: --html: the name is empty" ]
	run -2 --separate-stderr "$rtl" report clean.db lossy.db
	[ "$stderr" = "rtl: report: several FILEs on one page: name it with --html OUT" ]
	run -2 --separate-stderr "$rtl" report --label a --label b clean.db --html out.html
	[ "$stderr" = "rtl: report: more --label than FILEs" ]
	run -2 --separate-stderr "$rtl" report clean.db{,,,,,,,,} --html out.html
	[ "${#stderr_lines[@]}" -eq 1 ]
	run -1 --separate-stderr "$rtl" report clean.db --steps '(' --html out.html
	grep -q '^rtl: --steps (: ' <<<"$stderr"
	run -3 --separate-stderr "$rtl" report --strict lossy.db --html out.html
	[ -s out.html ]
	run -0 "$rtl" report --help
	# A full disk is no success, and leaves nothing behind.
	if [ -w /dev/full ]; then
		run -1 bash -c '"$1" report clean.db --html - >/dev/full' _ "$rtl"
	fi
}

@test "nothing in a page is from elsewhere, nor comes out of a name" {
	fixture hostile
	sqlite3 hostile.db "UPDATE rocpd_string SET string = '</script><script>window.pwned=1</script>' || char(8232)
		WHERE id = (SELECT min(id) FROM rtl_kernel_base)"
	"$rtl" report hostile.db --html out.html
	not grep -q 'pwned=1</script>' out.html
	grep -q 'pwned=1&#60;/script&#62;\\u2028' out.html
	not grep -Eq '(src|href)="?(https?:)?//' out.html
	# A script for each of the policy's hashes, and no other.
	python3 - out.html <<-'PY'
	import base64, hashlib, re, sys
	page = open(sys.argv[1], encoding="utf-8").read()
	policy = re.search(r'Content-Security-Policy content="([^"]*)"', page)[1]
	assert policy.startswith("default-src 'none'"), policy
	for tag, directive in (("script", "script-src"), ("style", "style-src")):
	    wanted = re.search(directive + r"((?: 'sha256-[^']*')+)", policy)[1].split()
	    texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
	    have = ["'sha256-" + base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() + "'" for t in texts]
	    assert have == wanted, (tag, have, wanted)
	PY
}

@test "--open hands the page to a browser, and says when there is none" {
	fixture clean
	mkdir bin
	printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"$OPENED"; echo chatter\n' >bin/browser
	chmod +x bin/browser
	cp bin/browser bin/xdg-open
	sed -i 's/^printf/printf "xdg " >>"$OPENED"; printf/' bin/xdg-open
	export OPENED=$work/opened PATH=$work/bin:$PATH
	run -0 --separate-stderr env BROWSER=browser:other "$rtl" report clean.db --open
	[ -z "$output" ]
	grep -Eq '^rtl: wrote clean.html \([0-9.]+ MB\)$' <<<"$stderr"
	[ "$(cat opened)" = "$work/clean.html" ]
	# What is more than a name is for xdg-open, and so is what is not there.
	for browser in "browser --new %s" nowhere ""; do
		rm opened
		run -0 env BROWSER="$browser" "$rtl" report clean.db -f --open
		[ "$(cat opened)" = "xdg $work/clean.html" ]
	done
	ln -sf /bin/false bin/xdg-open
	run -1 --separate-stderr env BROWSER= "$rtl" report clean.db -f --open
	[ "${stderr_lines[1]}" = "rtl: --open: clean.html cannot be opened: the browser failed" ]
	mkdir empty
	run -1 --separate-stderr env BROWSER= PATH="$work/empty" "$rtl" report clean.db -f --open
	[ "${stderr_lines[1]}" = "rtl: --open: there is neither xdg-open nor what BROWSER names; open clean.html yourself" ]
	[ -s clean.html ]
	run -2 "$rtl" report clean.db --html - --open
}

@test "side by side: ranks, and the mean of the steps that they have" {
	ranks late
	# Rank 0 has all twelve steps of a millisecond, the others four; one process has taken another's rank.
	python3 - late.db <<-'PY'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	begin = 5_000_000_000
	for step in range(12):
	    text = db.execute("INSERT INTO rocpd_string (string) VALUES (?)", (f"step {step}",)).lastrowid
	    for process in range(1, 5 if step < 4 else 2):
	        db.execute("INSERT INTO rtl_marker_base VALUES (?, ?, NULL, 7, 'push', ?, ?, ?)",
	                   (process, step + 1, text, begin + step * 1_000_000, begin + (step + 1) * 1_000_000))
	db.execute("UPDATE rtl_process SET rank = 2 WHERE id = 4")
	db.commit()
	PY
	[ "$("$rtl" timeline --json late.db | jq -c '[.ranks[].steps]')" = "[12,4,4,4]" ]
	"$rtl" report late.db late.db --html out.html
	grep -Eq '<td>ranks<td[^>]* data-v=3>3<' out.html
	grep -Eq '<td>steps of a rank, most<td[^>]* data-v=12>12<' out.html
	grep -Eq '<td>mean step .ms.<td[^>]* data-v=1000000>1.000<' out.html
}

@test "side by side: a session without steps has no number of them, nor a mean" {
	ranks late
	ranks one
	sqlite3 late.db "INSERT INTO rocpd_string (string) VALUES ('step 1'); INSERT INTO rtl_marker_base
		SELECT id, 1, NULL, 7, 'push', last_insert_rowid(), 5000000000, 5000500000 FROM rtl_process"
	[ "$("$rtl" timeline --json late.db | jq -r .steps.source)" = markers ]
	[ "$("$rtl" timeline --json one.db | jq -r .steps.source)" != markers ]
	"$rtl" report late.db one.db --html out.html
	run -0 sed -n 's/<td[^>]*>/|/g; s/<tr>//; /^|\(steps of\|mean step\|idle\)/p' out.html
	[ "$output" = "|steps of a rank, most|1|-
|mean step (ms)|0.500|-
|idle (%)|50.0|0.0" ]
	grep -Fq 'Shares are of the steps; where a session has none, of its time.' out.html
}

@test "the page of rtl report works in a browser" {
	$rtl run -o demo.db --mode full --device soft -- "$demo" --ranks 4 --steps 20 --straggler 2 >out 2>err
	ranks late
	ranks many
	ranks none
	ranks one
	fixture lossy
	fixture live
	fixture hostile
	python3 - <<-'PY'
	import sqlite3
	db = sqlite3.connect("hostile.db")
	ids = [row[0] for row in db.execute("SELECT id FROM rtl_kernel_base ORDER BY id LIMIT 4")]
	names = ["</script><script>window.pwned = 1</script>", '"><img src=x onerror="window.pwned = 1">',
	         "<!--<script>\u2028\u202eevil", "x" * 4096]
	for at, name in zip(ids, names):
	    db.execute("UPDATE rocpd_string SET string = ? WHERE id = ?", (name, at))
	db.commit()
	PY
	for name in demo late many none one lossy hostile; do
		"$rtl" report $name.db --html $name.html
	done
	# Another process has it open, as its collector would.
	python3 - "$rtl" <<-'PY'
	import sqlite3, subprocess, sys
	db = sqlite3.connect("live.db")
	db.execute("PRAGMA journal_mode = WAL")
	db.execute("SELECT count(*) FROM rtl_session").fetchone()
	subprocess.run([sys.argv[1], "report", "live.db", "--html", "live.html"], check=True)
	PY
	"$rtl" report demo.db late.db --label left --label right --html both.html
	"$rtl" report none.db one.db --label "$(printf 'x%.0s' {1..200})" --html wide.html
	run -0 python3 "$here/check_report.py" "$rtl" . ${RTL_SHOTS:+"$RTL_SHOTS"}
}
