#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Where root lets the service listen and store: never through another user's symbolic link, nor as root where
# there is a user for it, unless --allow-root says so. Needs root.
bats_require_minimum_version 1.5.0
load lib.bash

other=65534

# starts OPTION...: whether a collector comes up with them; collector.log has its words.
starts() {
	rm -f collector.log
	"$collectord" "$@" >collector.log 2>&1 3>&- &
	local collector=$! status=0
	pids+=($collector)
	wait_until spoke
	kill $collector 2>/dev/null || true
	wait $collector || status=$?
	grep -q '^collectord: listening on ' collector.log && [ $status -eq 0 ]
}

spoke() { [ -s collector.log ]; }

@test "a socket or a store below another user's link is refused, by the link's name" {
	mkdir -m 755 real
	ln -s "$work/real" ours
	ln -s "$work/real" theirs
	ln -s theirs by
	chown -h $other theirs
	for link in theirs by; do
		run ! starts --socket "$work/$link/c.sock" --db-dir "$work/store"
		[ "$(cat collector.log)" = "collectord: --socket $work/$link/c.sock: $work/theirs is a symbolic link of another user; name the place itself, or give --allow-root" ]
		run ! starts --socket "$work/c.sock" --db-dir "$work/$link/store"
		[ "$(cat collector.log)" = "collectord: --db-dir $work/$link/store: $work/theirs is a symbolic link of another user; name the place itself, or give --allow-root" ]
	done
	[ -z "$(ls -A real)" ]
	starts --socket "$work/ours/c.sock" --db-dir "$work/ours/store"
	[ -d real/store ]
	starts --allow-root --socket "$work/theirs/c.sock" --db-dir "$work/theirs/store2"
	[ -d real/store2 ]
}

@test "with a user for the service root does not stay root over a folder of its own" {
	mkdir roots
	cp /etc/passwd passwd
	echo "rtl:x:$other:$other::/:/bin/false" >>passwd
	chmod 711 .
	cat >as_rtl <<-'END'
		mount --bind passwd /etc/passwd && exec "$@"
	END
	collectord_with_user() { unshare --mount sh as_rtl "$collectord" "$@"; }
	run -1 collectord_with_user --socket "$work/c.sock" --db-dir "$work/roots"
	[ "$output" = "collectord: cannot store under $work/roots: it is not the folder of user rtl, and the service would go on as root; chown it, or give --allow-root" ]
	# One of its own, one that it makes, and what root keeps for itself.
	mkdir theirs
	chown $other:$other theirs
	printf '#!/bin/sh\nexec unshare --mount sh %s/as_rtl %s "$@"\n' "$work" "$collectord" >with_user
	chmod 755 with_user
	collectord=$work/with_user
	starts --socket "$work/c.sock" --db-dir "$work/theirs"
	starts --socket "$work/c.sock" --db-dir "$work/new"
	[ "$(stat -c %u new)" -eq $other ]
	starts --allow-root --socket "$work/c.sock" --db-dir "$work/roots"
	starts --private --socket "$work/c.sock" --db-dir "$work/roots"
}
