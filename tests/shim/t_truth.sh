#!/bin/sh
# SPDX-License-Identifier: MIT
# However the shim is loaded, every dispatch of every rank arrives once, with the device's times, and
# nothing is printed on stderr.
. "$(dirname "$0")/lib.sh"
load=$2

collector_start
with_shim SOFTGPU_COUNT=4 "$build/bin/rtl-demo" --ranks 3 --steps 10 --one-gpu-each || die "rtl-demo: $?"
! grep '^rtl:' "$dir/err" || die "the shim spoke"
! grep -i 'leak' "$dir/err" || die "the runtime misses something"
collector_stop
compare_truth
[ "$(grep -c '^process' "$dir/collected")" = 3 ] || die "not three processes"
for rank in 0 1 2; do
	grep -q "^process [0-9]* $rank 1 [0-9]* [01] 1 .* torchrun 0 0\$" "$dir/collected" ||
		die "rank $rank is missing or did not end well: $(grep '^process' "$dir/collected")"
done
# Each process sees one GPU and reports it by the node's number.
[ "$(awk '$1 == "row" { print $3 }' "$dir/collected" | sort -u | tr '\n' ' ')" = "0 1 2 " ] ||
	die "GPU numbers are not the node's"
# seq has no holes: from 0 in each queue.
awk '$1 == "seq" { n[$2 " " $3]++; if ($4 > max[$2 " " $3]) max[$2 " " $3] = $4 }
	END { for (q in n) if (n[q] != max[q] + 1) { print q, n[q], max[q]; bad = 1 } exit bad }' \
	"$dir/collected" || die "sequence numbers have holes"
expect dispatched "$(wc -l <"$dir/truth")"
expect recorded "$(wc -l <"$dir/truth")"
expect missed 0
expect queues_created "$(counter queues_followed)"
expect queues_destroyed "$(counter queues_followed)"
