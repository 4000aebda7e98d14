# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For the scripts of this folder: a temporary directory, a collector in it, and the comparison of what it
# received with the software GPU's truth. Usage in a script: . lib.sh BUILD_DIR
set -u
build=$1
shim=$build/lib/librtl-shim.so
dir=$(mktemp -d "${TMPDIR:-/tmp}/rtl-shim-XXXXXX")
collector_pid=
trap 'finish' EXIT

finish()
{
	[ -z "$collector_pid" ] || kill "$collector_pid" 2>/dev/null
	rm -rf "$dir"
}

die()
{
	echo "FAILED: $*"
	for file in "$dir"/err "$dir"/collector.err; do
		[ ! -s "$file" ] || { echo "--- $file"; head -n 40 "$file"; }
	done
	exit 1
}

# collector_start [OPTION...]
collector_start()
{
	"$build/tests/shim/test-collector" "$dir/socket" "$@" \
		>"$dir/collected" 2>"$dir/collector.err" &
	collector_pid=$!
	tries=0
	until grep -q ready "$dir/collected" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 6000 ] || die "the collector does not come up"
		sleep 0.05
	done
}

# Fails if the shim broke a rule of the protocol.
collector_stop()
{
	kill -TERM "$collector_pid"
	wait "$collector_pid" || die "the collector found a fault"
	collector_pid=
}

# with_shim COMMAND...: on the software GPU, with the shim loaded by HSA_TOOLS_LIB unless load= says otherwise.
with_shim()
{
	case ${load:-tools} in
	tools) set -- HSA_TOOLS_LIB="$shim" "$@" ;;
	preload) set -- LD_PRELOAD="$shim" "$@" ;;
	both) set -- HSA_TOOLS_LIB="$shim" LD_PRELOAD="$shim" "$@" ;;
	esac
	# The end waits until the last records are sent, however loaded the machine is.
	env RTL_EXIT_MS="${exit_ms:-60000}" RTL_SOCKET="$dir/socket" LD_LIBRARY_PATH="$build/lib/softgpu" \
		SOFTGPU_TRUTH="$dir/truth.%p" "$@" >"$dir/out" 2>"$dir/err"
}

# Lines "pid gpu kernel start end", sorted: one list from the device, one from the collector.
truth_list()
{
	"$build/bin/softgpu-truth" "$dir"/truth.* |
		awk -F, 'NR > 1 && $9 ~ /^done/ && $9 !~ /emulated/ {
			print $1, $2, $6 ".kd", $7, $8 }' | sort
}

rows_list()
{
	awk '$1 == "row" { print $2, $3, $4, $5, $6 }' "$dir/collected" | sort
}

# compare_truth: the collector has every dispatch of the device once, with name and times, and at least one.
compare_truth()
{
	truth_list >"$dir/truth"
	rows_list >"$dir/rows"
	[ -s "$dir/truth" ] || die "the device did nothing"
	cmp -s "$dir/truth" "$dir/rows" || {
		diff "$dir/truth" "$dir/rows" | head -n 10
		die "$(wc -l <"$dir/truth") dispatches, $(wc -l <"$dir/rows") rows, not the same"
	}
}

# compare_timed: the same for programs with signals of their own. If the application reuses a signal at the
# moment when the shim reads it, that row has no times and is counted.
compare_timed()
{
	truth_list >"$dir/truth"
	rows_list >"$dir/rows"
	[ -s "$dir/truth" ] || die "the device did nothing"
	[ "$(wc -l <"$dir/truth")" = "$(wc -l <"$dir/rows")" ] ||
		die "$(wc -l <"$dir/truth") dispatches, $(wc -l <"$dir/rows") rows"
	untimed=$(awk '$1 == "row" && $7 != 0' "$dir/collected" | wc -l)
	[ "$(comm -13 "$dir/truth" "$dir/rows" | wc -l)" = "$untimed" ] || {
		diff "$dir/truth" "$dir/rows" | head -n 10
		die "rows with a time that never was"
	}
	expect untimed_early "$untimed"
	expect recorded "$(($(wc -l <"$dir/truth") - untimed))"
}

# counter NAME: summed over all processes.
counter()
{
	awk -v name="$1" '$1 == "counter" && $3 == name { n += $4 } END { print n + 0 }' \
		"$dir/collected"
}

# expect NAME VALUE
expect()
{
	[ "$(counter "$1")" = "$2" ] || die "$1 is $(counter "$1"), not $2"
}
