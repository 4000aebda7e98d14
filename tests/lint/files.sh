#!/bin/sh
# SPDX-License-Identifier: MIT
# Files stay under 600 lines, carry a licence line, and hold no unfinished marks or paths of
# somebody's machine.
# usage: files.sh SOURCE_DIR
set -eu
cd "$1"
bad=0
list=$(git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -print)
[ -n "$list" ]
for file in $list; do
	case "$file" in
	*.c | *.h | *.sh | *.py | *.sql | *.bats | *.proto | *.cmake | */CMakeLists.txt | CMakeLists.txt | *.cl) ;;
	*) continue ;;
	esac
	[ -f "$file" ] || continue
	lines=$(wc -l <"$file")
	if [ "$lines" -gt 600 ]; then
		echo "$file: $lines lines; split it along a real seam"
		bad=1
	fi
	if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT'; then
		echo "$file: no SPDX line"
		bad=1
	fi
	case "$file" in tests/lint/*) continue ;; esac
	if grep -nHE '\b(TODO|FIXME|XXX)\b|/home/[a-z]+/' "$file"; then
		bad=1
	fi
done
if [ $bad -ne 0 ]; then
	echo "lint.files: see above" >&2
	exit 1
fi
