#!/bin/sh
# SPDX-License-Identifier: MIT
# The rules and thresholds of cli/reason/rule_table.h are the rows of docs/commands.md, in the same order.
# usage: reason.sh SOURCE_DIR
set -eu
cd "$1"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# One macro call a line, adjacent strings joined.
tr '\n' ' ' <cli/reason/rule_table.h | sed 's/\\ *//g; s/"[[:space:]]*"//g; s/[[:space:]][[:space:]]*/ /g; s/ X(/\nX(/g' |
	sed -n 's/^X(//p' | sed 's/) *$//; s/) [/#].*$//; s/) enum {.*$//' >"$dir/calls"
awk -F', *' '/^[A-Z_]*, *"/ {
	line = $0; sub(/^[A-Z_]*, *"/, "", line); code = line; sub(/".*/, "", code)
	sub(/^[a-z_]*", *"/, "", line); sub(/"$/, "", line)
	printf "| %d | `%s` | %s |\n", ++n, code, line }' "$dir/calls" >"$dir/rules"
awk '/^[A-Z_]*, *[0-9]+,/ {
	line = $0; name = line; sub(/,.*/, "", name); sub(/^[A-Z_]*, */, "", line)
	value = line; sub(/,.*/, "", value); sub(/^[0-9]+, *"/, "", line); sub(/"$/, "", line)
	printf "| %s | %s | %s |\n", name, value, line }' "$dir/calls" >"$dir/thresholds"
grep -E '^\| [0-9]+ \| `' docs/commands.md >"$dir/rules.docs"
grep -E '^\| [A-Z_]+ \| [0-9]+ \|' docs/commands.md >"$dir/thresholds.docs"
for what in rules thresholds; do
	if [ ! -s "$dir/$what" ] || ! diff "$dir/$what" "$dir/$what.docs"; then
		echo "lint.reason: $what of cli/reason/rule_table.h (<) are not those of docs/commands.md (>)" >&2
		exit 1
	fi
done
