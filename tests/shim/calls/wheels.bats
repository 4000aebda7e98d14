#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The runtimes' libraries under the names that Python wheels give them: Debian's own ROCr and HIP, and
# the stand-ins for RCCL and roctx, renamed and moved, with programs that find them by RUNPATH.
load ../../system/lib.bash
bats_require_minimum_version 1.5.0

export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
folder=$RTL_BUILD/tests-bin
system=$(dirname "$(ldconfig -p | awk '/libamdhip64.so.5 / {print $NF}')")

# The new name of a library: as in pip's torch, as auditwheel makes it, as in TheRock's ROCm.
renamed() { # renamed LAYOUT LIBRARY.so VERSION
	case $1 in
	torch) echo "$2" ;;
	auditwheel) echo "${2%.so}-1a2b3c4d.so$3" ;;
	therock) echo "$2$3" ;;
	esac
}

# wheel LAYOUT [PROGRAM...]: fills the folder $libs and copies the programs beside it.
wheel() {
	local layout=$1 files=() names=() file from to pair program
	case $layout in
	torch) libs=$work/site-packages/torch/lib ;;
	auditwheel) libs=$work/site-packages/torch.libs ;;
	therock) libs=$work/site-packages/_rocm_sdk_core/lib ;;
	esac
	shift
	mkdir -p "$libs"
	for pair in "$system/libhsa-runtime64.so .1" "$system/libamdhip64.so .5" "$folder/rccl/librccl.so .1" \
		"$RTL_BUILD/tests/shim/libroctx64.so .4"; do
		from=${pair% *}
		to=$(renamed "$layout" "${from##*/}" "${pair#* }")
		file=$from${pair#* }
		[ -e "$file" ] || file=$from
		cp "$file" "$libs/$to"
		patchelf --set-soname "$to" "$libs/$to"
		files+=("$libs/$to")
		names+=("${file##*/} $to")
	done
	for program; do
		cp "$folder/$program" .
		files+=("$work/$program")
	done
	for file in "${files[@]}"; do
		for pair in "${names[@]}"; do
			patchelf --replace-needed "${pair% *}" "${pair#* }" "$file"
		done
		patchelf --set-rpath "$libs" "$file"
	done
}

# Only the software GPU's thunk is found outside the wheel.
none_of_the_system() {
	not grep -aE "$system/lib(amdhip64|hsa-runtime64)|$folder/rccl" "$1"
	grep -aq "$libs/" "$1"
}

record() { # record MODE PROGRAM...
	local mode=$1
	shift
	export SOFTGPU_COUNT=1
	unset SOFTGPU_SCRIPT
	rm -f t.db
	RTL_EXIT_MS=60000 "$rtl" run -m "$mode" -o t.db --device soft -- "$@" >out 2>err || {
		cat out err
		return 1
	}
	cat err
	accounted t.db
	tail -n 1 err | grep -Eq '^SIMULATED complete: '
}

@test "HIP calls are recorded from a HIP and an HSA runtime that a wheel has renamed" {
	local layout
	for layout in torch auditwheel therock; do
		wheel "$layout" hip-calls
		LD_LIBRARY_PATH=$libdir/softgpu ldd ./hip-calls >loaded
		none_of_the_system loaded
		record hip ./hip-calls 2 4
		[ "$(sed -n 's/^launch //p' out | wc -l)" -eq "$(sql t.db "SELECT count(*) FROM rocpd_op o
			JOIN rtl_host_call c ON c.id = o.api_id JOIN rtl_kernel k ON k.id = o.description_id
			WHERE k.symbol LIKE 'work%'")" ]
		[ "$(sql t.db "SELECT count(*) FROM rocpd_op WHERE correlation_id IS NULL")" -eq 0 ]
	done
}

@test "collectives are recorded from an RCCL that a wheel has renamed" {
	local layout mode
	head -c 128 /dev/urandom >id
	for layout in torch auditwheel therock; do
		wheel "$layout" rccl-calls
		LD_LIBRARY_PATH=$libdir/softgpu ldd ./rccl-calls >loaded
		none_of_the_system loaded
		for mode in standard hip; do
			record $mode env RTL_RANK=0 ./rccl-calls 0 4 id
			sed -n 's/^collective 0 //p; s/^pair 0 //p' out | sort >told
			sql t.db "SELECT op, seq, count, bytes, datatype, reduction, peer, comm_rank, comm_size
				FROM rtl_collective" | sort >rows
			[ "$(wc -l <told)" -eq 18 ]
			diff told rows
			[ "$(sql t.db "SELECT count(*) FROM rtl_collective_kernel")" -eq 18 ]
		done
	done
}

@test "a Python that opens the wheel's libraries privately has its HIP, RCCL and roctx recorded" {
	local layout rccl roctx
	for layout in torch auditwheel therock; do
		wheel "$layout"
		rccl=$libs/$(renamed $layout librccl.so .1)
		roctx=$libs/$(renamed $layout libroctx64.so .4)
		record hip python3 "$here/../shim/calls/ctypes_rccl.py" "$rccl" "$roctx"
		[ "$(wc -l <out)" -eq 10 ]
		# A sanitized librtl-calls.so does not wrap dlsym, so they are not recorded.
		[ -z "$sanitizer" ] || continue
		sql t.db "SELECT seq, count, bytes, m.text FROM rtl_collective k
			JOIN rtl_collective_kernel j ON j.collective_id = k.id
			JOIN rocpd_op o ON o.id = j.dispatch_id
			JOIN rtl_marker m ON m.process_id = o.process_id AND m.roctxId = o.roctxId
			WHERE op = 'ncclAllReduce'" | sort -n >rows
		diff out rows
	done
}

@test "roctx of both generations is found behind ours under the names of wheels" {
	local name
	mkdir lib
	for name in libroctx64.so libroctx64-1a2b3c4d.so.4 librocprofiler-sdk-roctx.so \
		librocprofiler-sdk-roctx-1a2b3c4d.so.1; do
		cp "$RTL_BUILD/tests/shim/libroctx64.so" "lib/$name"
		patchelf --set-soname "$name" "lib/$name"
		cp "$RTL_BUILD/tests/shim/libshim-roctx-user.so" lib/libuser.so
		patchelf --replace-needed libroctx64.so "$name" --set-rpath "$work/lib" lib/libuser.so
		"$RTL_BUILD/tests/shim/shim-roctx-late" lib/libuser.so >alone
		grep -q '^41 42 4300000000' alone
		LD_PRELOAD=$preload "$RTL_BUILD/tests/shim/shim-roctx-late" lib/libuser.so >with
		diff alone with
		rm lib/"$name"
	done
}

@test "a plugin of RCCL, whose name begins like RCCL's, is not taken for it" {
	local plugin=$work/librccl-net.so
	cp "$RTL_BUILD/tests/shim/libroctx64.so" "$plugin"
	patchelf --set-soname librccl-net.so "$plugin"
	cat >ask.py <<-'END'
		import ctypes, sys
		for path in sys.argv[1:]:
		    ctypes.CDLL(path)
		print(ctypes.CDLL(None).ncclGetUniqueId(ctypes.create_string_buffer(128)))
	END
	[ "$(LD_PRELOAD=$preload LD_LIBRARY_PATH=$libdir/softgpu python3 ask.py "$plugin" \
		"$folder/rccl/librccl.so.1")" = 0 ]
}
