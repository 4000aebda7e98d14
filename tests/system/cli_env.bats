#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl env and rtl doctor: what a job needs, printed and checked.
load lib.bash

bats_require_minimum_version 1.5.0

@test "rtl env can be evaluated by a POSIX shell, whatever is in the values" {
	export HSA_TOOLS_LIB="it's \"quoted\" \$HOME \`id\` \\ end"
	run -0 --separate-stderr sh -c 'eval "$("$0" env)" && printf "%s\n" "$HSA_TOOLS_LIB" "$HSA_TOOLS_ROCPROFILER_V1_TOOLS" "$LD_PRELOAD"' "$rtl"
	shim=$(realpath "$libdir/librtl-shim.so")
	[ "${lines[0]}" = "it's \"quoted\" \$HOME \`id\` \\ end $shim" ]
	[ "${lines[1]}" = 1 ]
	[[ :${lines[2]}: == *":${shim/librtl/rtl\/preload\/\$PLATFORM\/librtl}:"* ]]
}

@test "rtl env twice changes nothing more" {
	run -0 --separate-stderr sh -c 'eval "$("$0" env)" && "$0" env' "$rtl"
	twice=$output
	run -0 --separate-stderr "$rtl" env
	[ "$output" = "$twice" ]
}

@test "rtl env says once a launch that no collector listens, and nothing when one does" {
	local told="until one listens there, what the job does is not recorded (rtl run starts one)"
	run -0 --separate-stderr "$rtl" env --socket "$work/c.sock"
	[ "$stderr" = "rtl: collector at $work/c.sock: no such socket; $told" ]
	"$collectord" --socket "$work/c.sock" --db "$work/all.db" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/c.sock"
	run -0 --separate-stderr "$rtl" env --socket "$work/c.sock"
	[ -z "$stderr" ]
	kill -KILL "${pids[0]}"
	wait "${pids[0]}" || true
	for RANK in 0 1; do
		run -0 --separate-stderr env RANK=$RANK LOCAL_RANK=$RANK WORLD_SIZE=2 RTL_SOCKET="$work/c.sock" "$rtl" env
		[[ $output == *"export HSA_TOOLS_LIB="* ]]
		[ "$RANK" = 1 ] || [ "$stderr" = "rtl: collector at $work/c.sock: no process listens there; $told" ]
		[ "$RANK" = 0 ] || [ -z "$stderr" ]
	done
}

@test "rtl env: socket, job, mode and software GPU on request" {
	run -0 --separate-stderr "$rtl" env
	[[ $output != *RTL_SOCKET* && $output != *RTL_JOB_ID* && $output != *LD_LIBRARY_PATH* ]]
	run -0 --separate-stderr "$rtl" env --socket /some/where.sock --job 'a b' -m lite --device soft
	[[ $output == *"export RTL_SOCKET=/some/where.sock"* ]]
	[[ $output == *"export RTL_JOB_ID='a b'"* ]]
	[[ $output == *"export RTL_MODE=lite"* ]]
	[[ $output == *"export LD_LIBRARY_PATH=$(realpath "$libdir/softgpu")"* ]]
	run -0 --separate-stderr "$rtl" env --socket later.sock
	[[ $output == *"export RTL_SOCKET=$work/later.sock"* ]]
	run -2 "$rtl" env --no-such-option
	run -2 "$rtl" env --socket ''
	[ "$output" = "rtl: env: --socket: the path is empty" ]
	run -2 "$rtl" env -m low
	[[ $output == *"none of lite, standard, full, hip, barriers, all, off"* ]]
}

@test "RTL_LIBDIR says where the libraries are" {
	mkdir 'other libs' && cp "$libdir/librtl-shim.so" 'other libs/'
	run -0 --separate-stderr env RTL_LIBDIR="$work/other libs" "$rtl" env
	[[ $output == *"HSA_TOOLS_LIB='\"$work/other libs/librtl-shim.so\"'"* ]]
	# LD_PRELOAD cannot name it: what comes by that is missing, and said to be.
	[[ $output != *LD_PRELOAD* ]]
	missing="roctx ranges, RCCL's and HIP's calls are not recorded: the shim's path has a space or a colon"
	[ "${stderr_lines[-1]}" = "rtl: $missing; install it elsewhere" ]
	ln -s "$libdir/softgpu" 'other libs/'
	run -0 --separate-stderr env RTL_LIBDIR="$work/other libs" "$rtl" run -o t.db true
	[ "${stderr_lines[0]}" = "rtl: $missing; install it elsewhere" ]
	run -0 env RTL_LIBDIR="$work/other libs" sh -c 'eval "$("$0" env 2>/dev/null)" && "$0" doctor --device soft' "$rtl"
	[[ $output == *"warn shim: $work/other libs/librtl-shim.so: $missing; install it elsewhere"* ]]
	[[ $output == *"ok   front: queues are followed by shadow"* ]]
	[[ $output != *"warn tools"* ]]
	RTL_LIBDIR=$work/none run -1 "$rtl" env
	[[ $output == *"$work/none/librtl-shim.so"* ]]
}

@test "rtl doctor: all is well for the software GPU" {
	run -0 --separate-stderr "$rtl" doctor --device soft
	[[ $output == *"ok   shim: $(realpath "$libdir/librtl-shim.so")"* ]]
	[[ $output == *"ok   softgpu: "*SIMULATED* ]]
	[[ $output == *"ok   collectord: "* ]]
	[[ $output == *"ok   choice: "* ]]
	[ -z "$(grep -vE '^(ok  |warn|FAIL) [a-z]+: .' <<<"$output")" ]
	# What the shim itself says about the runtime that a job would get.
	grep -q '^ok   release: ROCm 5 by its tables, build 1.5.0-local-build-unknown, tables 1/400 bytes/step 0: .*libhsa-runtime64' <<<"$output"
	grep -q '^ok   queues: queue_create, intercept_create; packets: AQL dispatches$' <<<"$output"
	grep -q '^ok   front: queues are followed by shadow$' <<<"$output"
}

@test "rtl doctor: the front end that would be chosen, and why" {
	RTL_FRONT_END=intercept-unsafe run -0 "$rtl" doctor --device soft
	grep -q '^ok   front: queues are followed by intercept$' <<<"$output"
	RTL_FRONT_END=intercept run -1 "$rtl" doctor --device soft
	grep -q '^FAIL front: no queue would be followed: ROCm 5 aborts.*RTL_FRONT_END=shadow records' <<<"$output"
}

@test "rtl doctor: the exit status follows the checks" {
	run "$rtl" doctor
	failures=$(grep -c '^FAIL' <<<"$output") || true
	[ "$status" -eq $((failures > 0)) ]
	if [ ! -e /dev/kfd ]; then
		grep -q '^FAIL kfd: .*--device soft' <<<"$output"
	fi
	[ -e /dev/kfd ] || [ "$status" -eq 1 ]
}

@test "rtl doctor names what is missing or in the way" {
	RTL_LIBDIR=$work/none run -1 "$rtl" doctor --device soft
	grep -q "^FAIL shim: $work/none/librtl-shim.so" <<<"$output"
	mkdir broken && echo nonsense >broken/librtl-shim.so
	RTL_LIBDIR=$work/broken run -1 "$rtl" doctor --device soft
	grep -q "^FAIL shim: .*broken/librtl-shim.so" <<<"$output"
	RTL_SOCKET=$work/none.sock run -1 "$rtl" doctor --device soft
	grep -q "^FAIL collector: $work/none.sock" <<<"$output"
	RTL_DORMANT=1 RTL_RANKS=3 run -0 "$rtl" doctor --device soft
	grep -q '^warn choice: RTL_DORMANT=1: not everything is recorded' <<<"$output"
	grep -q '^warn choice: RTL_RANKS=3: not everything is recorded' <<<"$output"
	RTL_KERNELS='(' run -1 "$rtl" doctor --device soft
	grep -q '^FAIL choice: RTL_KERNELS=(: ' <<<"$output"
	RTL_MODE=fast RTL_EXIT_MS=1s run -1 "$rtl" doctor --device soft
	grep -q '^FAIL choice: RTL_MODE=fast is not lite, standard, full, hip, barriers, all or off' <<<"$output"
	grep -q '^FAIL choice: RTL_EXIT_MS=1s is not milliseconds, from 0 to 600000' <<<"$output"
	RTL_MODE=off run -1 "$rtl" doctor --device soft
	grep -q '^FAIL tools: RTL_MODE=off' <<<"$output"
	HSA_TOOLS_LIB=/usr/lib/other.so run -0 "$rtl" doctor --device soft
	grep -q '^warn tools: HSA_TOOLS_LIB=/usr/lib/other.so' <<<"$output"
	HSA_TOOLS_ROCPROFILER_V1_TOOLS=0 ROCPROFILER_REGISTER_LIBRARY=/x.so run -0 "$rtl" doctor --device soft
	grep -q '^warn tools: HSA_TOOLS_ROCPROFILER_V1_TOOLS=0' <<<"$output"
	grep -q '^warn tools: ROCPROFILER_REGISTER_LIBRARY=/x.so' <<<"$output"
	run -0 --separate-stderr env HSA_TOOLS_ROCPROFILER_V1_TOOLS=0 "$rtl" env
	[[ $output == *"HSA_TOOLS_ROCPROFILER_V1_TOOLS=0"* ]]
	HIP_VISIBLE_DEVICES='' run -0 "$rtl" doctor --device soft
	grep -q '^warn visible: HIP_VISIBLE_DEVICES=' <<<"$output"
}

@test "rtl doctor -- PROGRAM names the ROCm that PROGRAM would load, and checks that one" {
	run -0 "$rtl" doctor --device soft -- "$RTL_BUILD/tests-bin/hip-calls" --json
	grep -q '^ok   program: .*/hip-calls loads .*/libamdhip64.so.5, .*/libhsa-runtime64.so.1$' <<<"$output"
	run -0 "$rtl" doctor --device soft true
	grep -q '^ok   program: .*/true is linked to no library of ROCm' <<<"$output"
	run -1 "$rtl" doctor --device soft no-such-program
	grep -q '^FAIL program: no-such-program: ' <<<"$output"
	# A wheel's runtime under another name, in a virtual environment; a script whose Python that is.
	local site=$work/venv/lib/python3.11/site-packages
	mkdir -p "$site/torch/lib" "$site/_rocm_sdk_core/lib" venv/bin
	ln -s /usr/bin/python3 venv/bin/python3
	cp "$(ldconfig -p | awk '/libhsa-runtime64.so.1 / {print $NF}')" "$site/torch/lib/libhsa-runtime64.so"
	touch "$site/torch/lib/"{librccl.so,libroctx64-1a2b3c4d.so.4,librccl-net.so} "$site/_rocm_sdk_core/lib/libamdhip64.so.7"
	printf '#!%s/venv/bin/python3\n' "$work" >train && chmod +x train
	for program in venv/bin/python3 ./train; do
		run -0 "$rtl" doctor --device soft -- $program train.py
		grep -q "^ok   packages: $site/torch/lib has libhsa-runtime64.so, librccl.so, libroctx64-1a2b3c4d.so.4$" <<<"$output"
		grep -q "^ok   packages: $site/_rocm_sdk_core/lib has libamdhip64.so.7$" <<<"$output"
		grep -q "^ok   runtime: $site/torch/lib/libhsa-runtime64.so$" <<<"$output"
		grep -q "^ok   release: ROCm 5.*$site/torch/lib/libhsa-runtime64.so$" <<<"$output"
		grep -q "^ok   owner: queues are the shim's alone$" <<<"$output"
	done
	# rocprofiler-sdk and its register beside torch.
	touch "$site/torch/lib/librocprofiler-sdk.so" "$site/torch/lib/librocprofiler-register-1a2b3c4d.so.0"
	run -0 "$rtl" doctor --device soft -- venv/bin/python3
	grep -q "^ok   packages: .* librocprofiler-sdk.so, librocprofiler-register-1a2b3c4d.so.0$" <<<"$output"
	grep -q "^warn owner: rocprofiler-sdk makes or wraps queues, too: it lies beside the program's ROCm" <<<"$output"
}

@test "rtl doctor says which tool owns the queues, and what moves their rings" {
	run -0 "$rtl" doctor --device soft
	grep -q "^ok   owner: queues are the shim's alone$" <<<"$output"
	local variable
	for variable in ROCP_TOOL_LIBRARIES=/x.so ROCPROFILER_REGISTER_LIBRARY=/x.so ROCPROFILER_QUEUE_INTERPOSITION=1; do
		run -0 env "$variable" "$rtl" doctor --device soft
		grep -q "^warn owner: rocprofiler-sdk makes or wraps queues, too: $variable; start the job by rtl run" <<<"$output"
	done
	# A library that rocprofiler-sdk would take for its tool, and one that it would not.
	printf 'void *rocprofiler_configure(void);\nvoid *rocprofiler_configure(void) { return 0; }\n' >tool.c
	gcc -shared -fPIC -o tool.so tool.c
	LD_PRELOAD=$work/tool.so run -0 "$rtl" doctor --device soft
	grep -q "^warn owner: .*$work/tool.so in LD_PRELOAD has rocprofiler_configure" <<<"$output"
	gcc -shared -fPIC -o other.so -x c /dev/null
	LD_PRELOAD=$work/other.so run -0 "$rtl" doctor --device soft
	grep -q "^ok   owner: " <<<"$output"
	HSA_ALLOCATE_QUEUE_DEV_MEM=1 DEBUG_CLR_AQL_DEV_QUEUE=1 run -0 "$rtl" doctor --device soft
	grep -q "^warn rings: HSA_ALLOCATE_QUEUE_DEV_MEM=1 " <<<"$output"
	grep -q "^warn rings: DEBUG_CLR_AQL_DEV_QUEUE=1 " <<<"$output"
	HSA_ALLOCATE_QUEUE_DEV_MEM=0 DEBUG_CLR_AQL_DEV_QUEUE=0 run -0 "$rtl" doctor --device soft
	[[ $output != *"warn rings"* ]]
}

@test "rtl doctor names a runtime that is known to fail programs, with the source" {
	run -0 "$rtl" doctor --device soft
	grep -q '^warn known: tables 1/400 bytes/step 0: a flooded intercept queue aborts the program .*docs/adr/0002' <<<"$output"
}

@test "rtl doctor asks the collector, not only the socket" {
	"$collectord" --socket "$work/c.sock" --db "$work/all.db" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/c.sock"
	RTL_SOCKET=$work/c.sock run -0 "$rtl" doctor --device soft
	grep -q "^ok   collector: $work/c.sock: .*answers" <<<"$output"
}

@test "rtl doctor --json" {
	run -0 --separate-stderr "$rtl" doctor --device soft --json
	python3 -c '
import json, sys
doctor = json.loads(sys.stdin.read())
assert doctor["schema"] == 1 and doctor["ok"] is True
assert {"check", "level", "detail", "todo"} == set(doctor["checks"][0])
assert {c["level"] for c in doctor["checks"]} <= {"ok", "warn", "FAIL"}
' <<<"$output"
}
