#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl rm and rtl keep: what a user removes is gone with all its files, what is kept outlives retention, and
# nothing of another user's changes. Those at a service need root, to become other users.
bats_require_minimum_version 1.5.0
load lib.bash
load service.bash

me=65533 other=65534

as() { # as UID COMMAND...
	local uid=$1
	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}

record() { # record FILE: a private run
	"$rtl" run -q --device soft -o "$1" -- "$demo" --ranks 1 --steps 1 >out 2>err
}

name_of() { sql "$1" 'SELECT name FROM rtl_session'; }

@test "rm removes a private session by its name or its file, with what lies beside it and its entry in the list" {
	record a.db && record b.db && record c.db
	a=$(name_of a.db)
	: >b.db-wal
	run -0 "$rtl" rm "$a" b.db
	[ -z "$output" ]
	[ "$(echo ./*.db*)" = ./c.db ]
	[ "$(ls state/rtl/private)" = "$(name_of c.db).db" ]
	[ "$("$rtl" ls --json | jq -r '.sessions[].database')" = "$work/c.db" ]
	run -1 "$rtl" rm "$a"
	[ "$output" = "rtl: rm: $a: no session of yours, and no file; rtl ls lists them" ]
	# Each is on its own, as with rm(1).
	cp c.db copy.db
	run -1 "$rtl" rm copy.db nothere.db
	[ "$output" = "rtl: rm: nothere.db: no session of yours, and no file; rtl ls lists them" ]
	[ ! -e copy.db ]
	run -0 "$rtl" rm -f "$a" ./a.db
	[ -z "$output" ]
}

@test "rm leaves alone what is live, kept, a link, a folder or no database of rtl" {
	record a.db
	ln -s a.db link.db && echo text >text.db && mkdir folder.db
	sqlite3 foreign.db 'CREATE TABLE t(x)'
	"$rtl" keep a.db
	"$rtl" run -q --device soft -o live.db -- "$demo" --ranks 1 --dispatches 1000000 --rate 100 >out 2>err 3>&- &
	pids+=($!)
	is_live() { "$rtl" ls --json | jq -e '.sessions[] | select(.state == "live")' >/dev/null; }
	wait_until is_live
	live=$("$rtl" ls --json | jq -r '.sessions[] | select(.state == "live").session')
	find . -maxdepth 1 -name '*.db' | sort >before
	run -1 "$rtl" rm -f a.db link.db text.db folder.db foreign.db live.db "$live"
	[ "$output" = "rtl: rm: a.db: it is kept; rtl keep --off ends that
rtl: rm: link.db: a link; name the file that it leads to
rtl: rm: text.db: not a database of rtl; left alone
rtl: rm: folder.db: a folder; name the files in it
rtl: rm: foreign.db: not a database of rtl; left alone
rtl: rm: live.db: it is live; it can be removed when its job has ended
rtl: rm: $live: it is live; it can be removed when its job has ended" ]
	find . -maxdepth 1 -name '*.db' | sort | cmp - before
	"$rtl" keep --off a.db
	"$rtl" rm a.db
	[ ! -e a.db ]
}

# bats test_tags=apart
@test "a private run that is kept stays in the list of sessions after 256 others" {
	record a.db
	a=$(name_of a.db)
	"$rtl" keep "$a"
	[ "$("$rtl" ls --json | jq -c '.sessions[] | [.session, .state, .kept]')" = "[\"$a\",\"closed\",true]" ]
	"$rtl" ls | grep -q "^$a  kept  "
	for ((n = 0; n < 256; n++)); do
		ln -s "$work/gone-$n.db" state/rtl/private/old-$n.db
	done
	record b.db
	[ "$("$rtl" ls --json | jq -r '.sessions[].session' | sort)" = "$(printf '%s\n' "$a" "$(name_of b.db)" | sort)" ]
	(cd run && "$rtl" summary "$a" >summary)
	"$rtl" keep --off "$a"
	[ "$("$rtl" ls --json | jq -c "[.sessions[] | select(.session == \"$a\").kept]")" = "[false]" ]
	[ -z "$(ls state/rtl/kept)" ]
}

@test "no run takes the place of a private run that is kept" {
	record a.db
	"$rtl" keep a.db
	cp a.db before
	for verb in "run -f" trace; do
		run -125 --separate-stderr "$rtl" $verb -q --device soft -o a.db -- touch started
		[ "$stderr" = "rtl: a.db: it is kept; rtl keep --off a.db ends that" ]
	done
	run -1 "$rtl" import -f -o a.db before
	[ "$output" = "rtl: a.db: it is kept; rtl keep --off a.db ends that" ]
	cmp a.db before
	[ "$(ls)" = "$(printf '%s\n' a.db before err out run state truth)" ]
	"$rtl" keep --off a.db
	"$rtl" run -q -f --device soft -o a.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	[ "$("$rtl" ls --json | jq -c '[.sessions[].kept]')" = "[false]" ]
}

# serve USER JOB: a closed session of the user at the service
serve() {
	as "$1" env HOME="$work/$1" XDG_STATE_HOME="$work/$1" XDG_RUNTIME_DIR= RTL_SOCKET="$work/c.sock" RTL_JOB_ID="$2" \
		"$rtl" run -q --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
}
of() { # of USER VERB...
	local uid=$1
	shift
	as "$uid" env HOME="$work/$uid" XDG_STATE_HOME="$work/$uid" XDG_RUNTIME_DIR= RTL_SOCKET="$work/c.sock" "$rtl" "$@"
}
listed() { of "$1" ls --json | jq -r '[.sessions[] | "\(.job) \(.state) \(.kept)"] | sort | join(", ")'; }
session() { of "$1" ls --json | jq -r ".sessions[] | select(.job == \"$2\").session"; }

@test "at the service rm removes a closed session of its owner alone, and nothing is left of it" {
	chmod 711 . && chmod 1777 truth
	mkdir -m 700 $me $other && chown $me $me && chown $other $other
	start_service
	serve $me one && serve $me two && serve $other one
	one=$(session $me one) theirs=$(session $other one)
	database=$(of $me ls --json | jq -r '.sessions[] | select(.job == "one").database')
	[ -e "$database" ]
	# To another user it does not exist, not even to one that sees all.
	run -1 "$rtl" rm "$work/store/$other/$theirs.db"
	[[ $output == *": in the store of a collector; its owner removes it while that runs" ]]
	run -1 of $other rm "$database"
	[[ $output == *": no session of yours, and no file; rtl ls lists them" ]]
	[ "$one" = "$theirs" ] || run -1 of $other rm "$one"
	RTL_SOCKET=$work/c.sock run -1 "$rtl" rm "$one"
	[ -e "$database" ]
	run -0 of $me rm "$one"
	[ -z "$output" ]
	# A busy collector is still at it.
	is_removed() { [ -z "$(find store -path "*$me*" -name "$(basename "$database")*")" ] && [ "$(listed $me)" = "two closed false" ]; }
	wait_until is_removed
	[ "$(listed $other)" = "one closed false" ]
	[ -z "$(sql "store/.index-$me" "SELECT 1 FROM session WHERE job = 'one' UNION ALL SELECT 1 FROM removed")" ]
	grep -q "$(basename "$database") of uid $me removed: its owner removed it" collector.log
	run -1 of $me rm "$one"
	[[ $output == *": no session of yours, and no file; rtl ls lists them" ]]
	run -0 of $me rm -f "$one"
	# By the path that rtl ls shows.
	of $me rm "$(of $me ls --json | jq -r '.sessions[].database')"
	[ -z "$(listed $me)" ]
	# The job may come again.
	serve $me one
	[ "$(listed $me)" = "one closed false" ]
}

@test "the name of a job is the session that ls calls so, also after a restart, and rm refuses it where two may be meant" {
	chmod 711 . && chmod 1777 truth
	mkdir -m 700 $me && chown $me $me
	start_service
	serve $me three
	past=$(of $me ls --json | jq -r '.sessions[].database')
	again() { kill -TERM $service && wait $service; start_service; }
	again
	# The service is started again while the job lives.
	RTL_JOB_ID=three of $me run -q --device soft -- "$demo" --ranks 1 --dispatches 1000000 --rate 100 >out 2>err 3>&- &
	job=$!
	pids+=($job)
	live() { of $me ls --json | jq -er '.sessions[] | select(.state == "live" and .live_processes == 1).session'; }
	wait_until live
	again
	wait_until live
	live=$(live)
	[ "$(of $me ls | awk '$1 == "three" {print $2}')" = live ]
	[ "$(of $me summary --json three | jq -r .session.name)" = "$live" ]
	of $me stat --json -n 1 "$(basename "$past" .db)" | jq -e '.sessions | length == 1 and .[0].closed'
	run -1 of $me rm three
	[ "$output" = "rtl: rm: three: it is live; it can be removed when its job has ended" ]
	[ -e "$past" ]
	# A private run is itself called so, which a session of the service is not.
	(cd $me && of $me run -q --private --name three --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err)
	mine=$work/$me/rtl-three.db
	[ -e "$mine" ]
	[ "$(of $me ls | awk '$1 == "three" {print $2}')" = closed ]
	[ "$(of $me summary --json three | jq -r .session.name)" = three ]
	for verb in rm keep; do
		run -1 of $me $verb three
		[[ $output == "rtl: $verb: three: the name of more than one session;"*" $live ($(of $me ls --json |
			jq -r ".sessions[] | select(.session == \"$live\").database")), "*"three.db" ]]
	done
	[ -e "$mine" ]
	of $me rm "$mine" "$(basename "$past" .db)"
	[ ! -e "$mine" ]
	is_gone() { [ ! -e "$past" ]; }
	wait_until is_gone
}

# bats test_tags=apart
@test "at the service a kept session outlives retention and restarts, a live one is not removed, and both can end" {
	chmod 711 . && chmod 1777 truth
	mkdir -m 700 $me $other && chown $me $me && chown $other $other
	"$collectord" --socket "$work/c.sock" --db-dir "$work/store" --keep-sessions 1 --quota-disk 4 >>collector.log 2>&1 3>&- &
	service=$!
	pids+=($service)
	wait_until answers
	serve $me one
	one=$(session $me one)
	of $me keep "$one"
	[ "$(listed $me)" = "one closed true" ]
	run -1 of $other keep "$work/store/$me/$one.db"
	run -1 of $me rm "$one"
	[ "$output" = "rtl: rm: $one: it is kept; rtl keep --off ends that" ]
	serve $me two
	# Both would be more than half of what it may have.
	run -1 of $me keep "$(session $me two)"
	[[ $output == *"you keep too many sessions, or too much of your quota"* ]]
	serve $me three
	gone() { [ "$(listed $me)" = "$1" ]; }
	wait_until gone "one closed true, three closed false, two removed null"
	# Root sees what others keep, too.
	RTL_SOCKET=$work/c.sock "$rtl" ls --json | jq -e '.sessions[] | select(.job == "one").kept' >/dev/null
	kill -TERM $service && wait $service
	start_service
	run -1 of $me rm "$one"
	[ "$output" = "rtl: rm: $one: it is kept; rtl keep --off ends that" ]
	[ -e "store/$me/$one.db" ]
	mkfifo go
	as $me env HOME="$work/$me" XDG_STATE_HOME="$work/$me" XDG_RUNTIME_DIR= RTL_SOCKET="$work/c.sock" RTL_JOB_ID=live \
		"$rtl" run -q --device soft -- sh -c "'$demo' --ranks 1 --steps 1; cat go" >out 2>err 3>&- &
	job=$!
	is_live() { [[ $(listed $me) == *"live live false"* ]]; }
	wait_until is_live
	live=$(session $me live)
	run -1 of $me rm "$live"
	[ "$output" = "rtl: rm: $live: it is live; it can be removed when its job has ended" ]
	of $me keep "$live"
	is_kept() { [[ $(listed $me) == *"live live true"* ]]; }
	is_kept
	echo >go
	wait $job
	[[ $(listed $me) == *"live closed true"* ]]
	of $me keep --off "$one" "$live"
	of $me rm "$one" "$live"
	are_removed() {
		[[ $(listed $me) != *true* && $(listed $me) != *"live closed"* ]] &&
			[ ! -e "store/$me/$one.db" ] && [ ! -e "store/$me/$live.db" ]
	}
	wait_until are_removed
}
