#!/bin/sh
# SPDX-License-Identifier: MIT
# Files stay under 1,000 lines, carry a licence line, and hold no unfinished marks or paths of
# a private machine.
# usage: files.sh SOURCE_DIR
set -eu
cd "$1"
bad=0
list=$(git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -print)
[ -n "$list" ]
# One awk for all: a process for each question to each file takes minutes on a busy machine.
for file in $list; do
	case "$file" in
	*.c | *.h | *.sh | *.py | *.sql | *.bats | *.proto | *.cmake | */CMakeLists.txt | CMakeLists.txt | *.cl)
		[ ! -f "$file" ] || echo "$file"
		;;
	esac
done | xargs awk '
	function close_file() {
		if (!file)
			return
		if (lines > 1000)
			complain(file ": " lines " lines; split it along a real seam")
		if (!licensed)
			complain(file ": no SPDX line")
	}
	function complain(what) { print what; bad = 1 }
	FNR == 1 { close_file(); file = FILENAME; licensed = 0; seen[file] = 1 }
	{ lines = FNR }
	FNR <= 3 && /SPDX-License-Identifier: MIT/ { licensed = 1 }
	/(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)([^A-Za-z0-9_]|$)|\/home\/[a-z]+\// && FILENAME !~ /^(\.\/)?tests\/lint\// {
		complain(FILENAME ":" FNR ":" $0)
	}
	END {
		close_file()
		for (i = 1; i < ARGC; i++)
			if (!(ARGV[i] in seen))
				complain(ARGV[i] ": empty, no SPDX line")
		exit bad
	}' || bad=1
if [ $bad -ne 0 ]; then
	echo "lint.files: see above" >&2
	exit 1
fi
