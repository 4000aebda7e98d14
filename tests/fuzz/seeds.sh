#!/bin/sh
# SPDX-License-Identifier: MIT
# seeds.sh BUILD FUZZ_BUILD [SECONDS]: the corpus anew. Captures real traffic on the software GPU
# (BUILD is a release build), lets each target (FUZZ_BUILD is of the preset fuzz) look for SECONDS
# from there and from the corpus of before, and keeps the fewest small inputs that reach as much.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
build=$1 fuzz=$2/tests/fuzz seconds=${3:-30}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

[ -n "${SEEDS:-}" ] || python3 "$folder/capture.py" "$build" "$work/seeds" >&2
seeds=${SEEDS:-$work/seeds}
python3 "$folder/compose.py" "$seeds"
python3 "$folder/by_hand.py" "$seeds"

grow() { # grow NAME PROGRAM [ARGUMENT...]
	name=$1 program=$fuzz/fuzz_$2
	shift 2
	mkdir -p "$work/$name" "$work/new" "$folder/corpus/$name" "$seeds/$name"
	(cd "$work" && "$program" "$@" -dict="$folder/rtl.dict" -max_len=16384 -timeout=20 \
		-verbosity=0 -max_total_time="$seconds" "$work/$name" "$seeds/$name" \
		"$folder/corpus/$name") || { cp "$work"/crash-* "$work"/timeout-* . 2>/dev/null; exit 1; }
	rm -rf "$work/new"
	mkdir "$work/new"
	"$program" "$@" -merge=1 -max_len=4096 -verbosity=0 "$work/new" "$folder/corpus/$name" \
		"$seeds/$name" "$work/$name" 2>/dev/null
	rm -rf "$folder/corpus/$name"
	# The small ones first, 96 KiB of a target: the corpus is in the tree.
	mkdir "$folder/corpus/$name"
	sum=0
	for file in $(ls -Sr "$work/new"); do
		sum=$((sum + $(stat -c %s "$work/new/$file")))
		[ $sum -le 98304 ] || break
		cp "$work/new/$file" "$folder/corpus/$name/$(printf %.12s "$file")"
	done
	echo "$name: $(ls "$folder/corpus/$name" | wc -l) inputs, $(du -sb "$folder/corpus/$name" | cut -f1) bytes"
}

for target in ${TARGETS:-$(sed "s/:.*//" "$folder/targets.txt")}; do
	# shellcheck disable=SC2046 # words
	grow "$target" $(sed -n "s/^$target: //p" "$folder/targets.txt")
done
