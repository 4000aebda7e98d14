# SPDX-License-Identifier: MIT
# Runs a scene of hip-scenes without the profiler and with it, and compares with the device's truth.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0
tests_dir=${BASH_SOURCE[0]%/*}
scenes=$RTL_BUILD/tests-bin/hip-scenes
module=$RTL_BUILD/tests-bin

# HIP leaks at its end, and its threads sometimes make LeakSanitizer itself fail, without rtl as well. The
# other tests check the shim for leaks.
export ASAN_OPTIONS=detect_leaks=0

# scene NAME [ARGUMENT...]: leaves out, err and t.db; with RTL_TEST_LONG=1 it also runs alone, and prints the same.
scene() {
	export SOFTGPU_SCRIPT=$tests_dir/softgpu.script SOFTGPU_COUNT=${gpus:-1}
	[ -z "${RTL_TEST_LONG:-}" ] || env -u SOFTGPU_TRUTH LD_LIBRARY_PATH="$libdir/softgpu" "$scenes" "$@" >out.alone
	# The end waits until the last records are sent, however loaded the machine is.
	RTL_EXIT_MS=60000 "$rtl" run -o t.db --device soft ${rtl_options:-} -- ${starved:-} "$scenes" "$@" >out 2>err ||
		{
			cat out err
			return 1
		}
	cat out err
	[ -z "${RTL_TEST_LONG:-}" ] || diff out.alone out
}

# Every dispatch that HIP made, its own kernels' included, is stored with the device's times.
exact() {
	accounted t.db
	local csv
	csv=$(truth_csv)
	# shellcheck disable=SC2086 # a list of files
	python3 "$here/compare_truth.py" t.db $csv
	[ "$(sql t.db 'SELECT sum(dropped) + sum(stored - timed) FROM rtl_account')" -eq 0 ]
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

# launched: what the program printed as launched is stored, apart from HIP's own kernels.
launched() {
	[ "$(awk '{ for (i = 1; i < NF; i++) if ($i == "launched") n += $(i + 1) } END { print n }' out)" -eq \
		"$(sql t.db "SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id
			WHERE k.symbol NOT LIKE '\_\_amd\_rocclr%' ESCAPE '\\'")" ]
}

# complete_with_calls: launched and exact, with nothing lost. If calls are recorded, each launch has its call,
# and every call that was entered has a row.
complete_with_calls() {
	[ -z "$(sql t.db 'SELECT * FROM rtl_loss')" ]
	launched
	exact
	local begun
	begun=$(sql t.db "SELECT coalesce(sum(value), 0) FROM rtl_counter WHERE name = 'calls_begun'")
	[ "$(sql t.db 'SELECT count(*) FROM rtl_host_call')" -eq "$begun" ]
	[ "$begun" -eq 0 ] || [ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE api_id IS NULL')" -eq 0 ]
}
