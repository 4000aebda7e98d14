#!/bin/sh
# SPDX-License-Identifier: MIT
# No line of a bats file that can't fail its test: errexit overlooks `! COMMAND`, and the first of
# `[ A ] && [ B ]`, wherever they are not the last of a function.
# usage: bats.sh SOURCE_DIR
set -eu
cd "$1"
list=$(git ls-files 'tests/*.bats' 'tests/*.bash' 2>/dev/null || find tests -name '*.bats' -o -name '*.bash')
[ -n "$list" ]
# shellcheck disable=SC2086 # a list of files
if awk '
	FNR == 1 { line = "" }
	line != "" && !/^[[:space:]]*}/ { print line; bad = 1 }
	{ line = "" }
	/^[[:space:]]*(! |\[.*\] && \[)/ && !/ \|\| / { line = FILENAME ":" FNR ": " $0 }
	END { exit bad }' $list; then
	exit 0
fi
echo "lint.bats: these can't fail; write 'not COMMAND', or two lines" >&2
exit 1
