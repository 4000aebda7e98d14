#!/bin/sh
# SPDX-License-Identifier: MIT
# A folder includes only its own headers and those of the folders in its row of layers.txt. A row names
# only rows below it, so there is no circle. And a few libraries belong to some folders alone.
# usage: layers.sh SOURCE_DIR
set -eu
cd "$1"
bad=0

find shim collectord cli proto -name '*.[ch]' -exec grep -nHE \
	'^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(shim|collectord|cli|proto)/)' {} + |
awk -v rows=tests/lint/layers.txt '
function folder(path) { sub("/[^/]*$", "", path); return path }
BEGIN {
	while ((getline line < rows) > 0) {
		sub(/#.*/, "", line)
		n = split(line, word, /[: ]+/)
		if (word[1] == "")
			continue
		known[word[1]] = 1
		order[++count] = word[1]
		names[word[1]] = line
	}
	# From the bottom up: a row may name only what has been read by then.
	for (row = count; row > 0; row--) {
		n = split(names[order[row]], word, /[: ]+/)
		for (i = 2; i <= n; i++) {
			if (word[i] == "")
				continue
			if (word[i] == "proto" ? order[row] ~ /^proto/ : !(word[i] in below)) {
				print "layers.txt: " order[row] " names " word[i] ", which does not stand below it"
				bad = 1
			}
			may[order[row], word[i]] = 1
		}
		below[order[row]] = 1
	}
}
{
	split($0, at, ":")
	own = folder(at[1])
	split($0, quoted, /["<>]/)
	other = folder(quoted[2])
	split(other, part, "/")
	checked++
	if (!(own in known)) {
		print own ": no row in layers.txt"
		bad = 1
	} else if (other != own && !((own, other) in may) && !(part[1] == "proto" && (own, "proto") in may)) {
		print at[1] ":" at[2] ": " own " may not include " quoted[2]
		bad = 1
	}
}
END {
	if (checked < 500)
		print "layers.sh: looked at " checked + 0 " lines only"
	exit bad || checked < 500
}' || bad=1

# An include names a file from the top of the tree, in one form: what a macro, include_next or a comment names, and a
# way up or around, would not be read above.
if grep -rnHE '^[[:space:]]*#[[:space:]]*(include_next|import|include[[:space:]]*[^[:space:]<"])|^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](\./|[^>"]*\.\.|tests/)' \
	shim collectord cli proto --include='*.[ch]'; then
	bad=1
fi

# forbid PATTERN_OF_INCLUDE FILE...: none of the files may include it.
forbid() {
	pattern=$1
	shift
	if grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@"; then
		bad=1
	fi
}

forbid 'event2/|event\.h|sqlite3(ext)?\.h|sys/socket\.h' $(find proto -name '*.[ch]')
forbid 'event2/|event\.h|sqlite3(ext)?\.h' $(find shim -name '*.[ch]')
forbid 'event2/|event\.h' $(find cli -name '*.[ch]')
# Files of databases are read by cli/database and written by what converts formats.
forbid 'sqlite3(ext)?\.h' $(find cli -name '*.[ch]' ! -path 'cli/database/*' ! -path 'cli/export/*' \
	! -path 'cli/import/*') cli/*/command.c
forbid 'protobuf-c|proto/wire/|stdio\.h|syslog\.h|pthread\.h' \
	shim/capture/dispatch.[ch] shim/capture/front_ends/shadow.[ch] shim/capture/front_ends/intercept.[ch]
forbid 'sqlite3(ext)?\.h' collectord/*.[ch] \
	$(find collectord/loop collectord/service collectord/channel collectord/supervisor -name '*.[ch]')
forbid 'event2/|event\.h|sys/socket\.h' $(find collectord/store collectord/recorder collectord/ingest collectord/catalog \
	collectord/db -name '*.[ch]')
forbid 'shim/|proto/|collectord/|cli/|[^>"]*\.\.' $(find tests/softgpu tests/workload -name '*.[ch]')
# A wait that only yields does not let a thread of another scheduling class run on the same processor.
if grep -nH 'sched_yield' $(find shim -name '*.[ch]' ! -path shim/base/wait.h); then
	echo "lint.layers: a wait in the shim goes by shim/base/wait.h" >&2
	bad=1
fi
# The shim is a guest: it reads variables in OnLoad from the table in shim/base/config.c. These two files run
# before that.
if grep -nHwE '(secure_)?getenv' $(find shim -name '*.[ch]' ! -path shim/load/preload.c ! -path shim/wrap/hip.c); then
	echo "lint.layers: the shim reads variables from the table in shim/base/config.c" >&2
	bad=1
fi
if [ $bad -ne 0 ]; then
	echo "lint.layers: the lines above cross a border of tests/lint/layers.txt" >&2
	exit 1
fi
