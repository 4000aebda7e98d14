# SPDX-License-Identifier: MIT
# For tests of what rtl run is to its private collector; after lib.bash.

# collector_of FILE: the pid of the private collector that writes it. A child of it has the same command line, and a lower pid
# where these have begun anew.
collector_of() {
	local pids pid parent
	pids=$(grep -lsaP -- "--db\\x00\\Q$work/$1\\E\\x00" /proc/[0-9]*/cmdline | tr -cd '0-9\n')
	for pid in $pids; do
		parent=$(sed -n 's/^PPid:\t//p' "/proc/$pid/status" 2>/dev/null) || continue
		grep -qx "$parent" <<<"$pids" || {
			echo "$pid"
			return
		}
	done
}

is_another() { # is_another FILE: a collector writes it, and not the last one
	local now
	now=$(collector_of "$1")
	[ -n "$now" ] && [ "$now" != "$collector" ]
}

rows_grow() { # rows_grow FILE: since the last look
	local before=${rows:-0}
	rows=$(sql "$1" 'SELECT count(*) FROM rocpd_op')
	[ "${rows:-0}" -gt "$before" ]
}

# An rtl whose collector dies at once as long as there is a file "broken", lives and says nothing as long
# as there is "mute", gives its keeper as many more descriptors as "many" says, and finds no room for a
# message to it where there is "full".
breakable_rtl() {
	mkdir bin && cp "$rtl" bin/rtl && ln -s "$libdir" lib
	cat >bin/collectord <<-END
		#!/bin/sh
		echo "\$\$ \$LISTEN_FDS" >>$work/starts
		[ ! -e $work/broken ] || { echo "collectord: cannot store: it is broken" >&2; exit 1; }
		[ ! -e $work/mute ] || exec sleep 1000
		[ ! -e $work/many ] || { python3 "$here/keep_many.py" "\$(cat $work/many)" && exec touch $work/has_many; } &
		[ ! -e $work/full ] || python3 "$here/keep_many.py" full
		exec "$collectord" "\$@"
	END
	chmod +x bin/collectord
	rtl=$work/bin/rtl
}
has_tried() { [ "$(wc -l <starts)" -ge "$1" ]; } # has_tried N

is_alone() { [ -z "$(cat "/proc/$1/task/$1/children")" ]; } # is_alone PID

lines_of() { grep -Ec "$1" "$2" || true; } # lines_of PATTERN FILE
