#!/bin/sh
# SPDX-License-Identifier: MIT
# Scripts of the page parse, are strict and have a licence line; nothing names where packages are from.
# usage: scripts.sh SOURCE_DIR
set -eu
cd "$1"
count=0
for file in cli/report/page/*.js; do
	node --check "$file"
	head -n 1 "$file" | grep -q 'SPDX-License-Identifier: MIT'
	grep -q '^"use strict";$' "$file"
	if grep -n 'innerHTML\|outerHTML\|insertAdjacentHTML\|document\.write\|eval(' "$file"; then
		echo "$file: makes elements of texts" >&2
		exit 1
	fi
	[ "$(wc -l <"$file")" -le 1000 ]
	count=$((count + 1))
done
[ "$count" -gt 5 ]
if grep -n '://\|"resolved"' cli/report/page/package.json cli/report/page/package-lock.json; then
	echo "lint.scripts: npm's files name a place" >&2
	exit 1
fi
