#!/bin/sh
# SPDX-License-Identifier: MIT
# on_load.sh BUILD [RUNS]: what the shim adds to hsa_init and to the memory of a process that does no
# more than that, and of one that dispatches: of RUNS (200), with and without, interleaved; what OnLoad
# says itself of its time on the calling thread (RTL_DEBUG=2, the lines that it writes included).
# ns by the program's clock, KiB by the kernel's count of what is resident, in all and of files.
set -eu
build=$1 runs=${2:-200}
dir=$(mktemp -d)
trap 'kill $collector 2>/dev/null; rm -rf "$dir"' EXIT
"$build/tests/shim/test-collector" "$dir/socket" >"$dir/collected" 2>&1 &
collector=$!
tries=0
until grep -q ready "$dir/collected"; do
	tries=$((tries + 1))
	[ $tries -lt 600 ] || { echo "on_load.sh: the collector did not come up in 30 s" >&2; exit 1; }
	sleep 0.05
done

once() { # once NAME KERNELS VARIABLE...
	name=$1 kernels=$2
	shift 2
	env LD_LIBRARY_PATH="$build/lib/softgpu" RTL_SOCKET="$dir/socket" "$@" \
		"$build/tests-bin/on-load" "$kernels" >>"$dir/$name.$kernels"
}

median() { # median NAME KERNELS FIELD
	awk -v field="$3" '{ print $field }' "$dir/$1.$2" | sort -n |
		awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

shim=$build/lib/librtl-shim.so
for _ in $(seq "$runs"); do
	for kernels in 0 1; do
		once alone "$kernels" RTL_MODE=standard
		once off "$kernels" HSA_TOOLS_LIB="$shim" RTL_MODE=off
		once shim "$kernels" HSA_TOOLS_LIB="$shim"
	done
	env LD_LIBRARY_PATH="$build/lib/softgpu" RTL_SOCKET="$dir/socket" HSA_TOOLS_LIB="$shim" RTL_DEBUG=2 \
		"$build/tests-bin/on-load" 0 2>&1 | sed -n 's/.*OnLoad took \([0-9]*\) us/\1/p' >>"$dir/told"
done
printf '%-22s %12s %12s %12s\n' "" "hsa_init ns" "RSS KiB" "shared KiB"
for kernels in 0 1; do
	for name in alone off shim; do
		printf '%-22s %12d %12d %12d\n' "$name, $kernels dispatches" "$(median $name $kernels 1)" \
			"$(median $name $kernels 2)" "$(median $name $kernels 3)"
	done
done
sort -n "$dir/told" | awk '{ v[NR] = $1 }
	END { printf "OnLoad, us: least %d, median %d, p95 %d, most %d of %d\n", v[1], v[int((NR + 1) / 2)],
		v[int(NR * 0.95)], v[NR], NR }'
echo "load: $(cut -d' ' -f1-3 /proc/loadavg)"
