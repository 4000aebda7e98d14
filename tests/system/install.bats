#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `cmake --install` into a DESTDIR puts all where distributions expect it, and it works there.
load lib.bash
bats_require_minimum_version 1.5.0

@test "the installed files, and a run with them" {
	DESTDIR=$work/root cmake --install "$RTL_BUILD" >/dev/null
	local prefix
	prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$RTL_BUILD/CMakeCache.txt")
	cd "root$prefix"
	test -x bin/rtl
	test -x bin/collectord
	bin/collectord --version | grep -q '^collectord [0-9]'
	bin/rtl --version | grep -q '^rtl [0-9]'
	test -f lib/librtl-shim.so || test -f lib/*-linux-gnu/librtl-shim.so
	test -f lib/systemd/system/rtl-collectord.socket
	grep -q "^ExecStart=$prefix/bin/collectord" lib/systemd/system/rtl-collectord.service
	test -f lib/sysusers.d/rtl.conf
	test -f lib/tmpfiles.d/rtl.conf
	# What README and the units point to.
	local page
	for page in $(grep -o '](\(docs/\)*[A-Za-z0-9_/.-]*)' share/doc/rtl/README.md | tr -d ']()') \
		$(sed -n "s|^Documentation=file:$prefix/share/doc/rtl/||p" lib/systemd/*/rtl-collectord.service); do
		test -e "share/doc/rtl/$page"
	done
	[ -n "$page" ]
	run -1 grep -r '^Documentation=man:' lib/systemd
	# Nothing of the tests, nothing elsewhere.
	run -0 find . ! -path './share/doc/*' \( -name '*softgpu*' -o -name '*demo*' -o -name '*.a' -o -name '*faults*' \)
	[ -z "$output" ]
	# The software GPU is not there, and not proposed.
	run bin/rtl doctor
	[[ $output != *"--device soft"* ]]
	run -125 bin/rtl run --device soft true
	[[ $output == "rtl: software GPU: "*": not found; only a build has it: set RTL_LIBDIR to its folder lib" ]]
	RTL_LIBDIR=$libdir run -0 bin/rtl run -q --device soft -o "$work/soft.db" true
	cd "$work"
	# It finds its parts by where it stands; the device is the test's own.
	export LD_LIBRARY_PATH=$libdir/softgpu
	"root$prefix/bin/rtl" run -o t.db -- "$demo" --ranks 2 --steps 3 >out 2>err || { cat err; false; }
	[ "$(told out)" = "$(stored t.db)" ]
	accounted t.db
}

has_rows() {
	# A file that is not there yet would be made by sqlite3.
	[ -s "$1" ] && [ "$(sqlite3 "$1" 'SELECT count(*) FROM rocpd_op' 2>/dev/null)" -gt 0 ] 2>/dev/null
}

# install_over OPTION...: what is installed below root once more, from the same build.
install_over() {
	DESTDIR=$work/root cmake --install "$RTL_BUILD" "$@" >/dev/null
}

@test "an installation over a running job disturbs neither its ranks nor programs that start meanwhile" {
	install_over
	local prefix rtl starter job long options
	prefix=$work/root$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$RTL_BUILD/CMakeCache.txt")
	rtl=$prefix/bin/rtl
	export LD_LIBRARY_PATH=$libdir/softgpu
	mkfifo go
	# Ranks before and after, of one job; the first have the old libraries mapped when they go on.
	"$rtl" run -m hip -o t.db -- sh -c "exec 3<go; '$demo' --ranks 2 --steps 2 >out1 && cat <&3 >/dev/null
		'$demo' --ranks 2 --steps 2 >out2" 2>err &
	job=$!
	exec 4>go
	"$rtl" run -q -m hip -o u.db -- "$demo" --dispatches 100000000 --rate 200 >out3 2>err3 4>&- &
	long=$!
	wait_until has_rows u.db
	# Programs that start all the time, each of which would say what its loader cannot load.
	while [ ! -e enough ]; do
		sh -c 'eval "$("$1" env -m hip)"; exec env true' sh "$rtl" 2>>err4 || echo "$?" >>err4
	done 4>&- &
	starter=$!
	for options in --strip "" --strip; do
		install_over $options
	done
	touch enough
	wait $starter
	exec 4>&-
	wait $job
	kill -USR1 $long # it ends early
	wait $long
	# No collector listens for these, which is all that may be said.
	not grep -v '^rtl: collector at /run/rtl\.sock: no such socket; ' err4
	[ "$(told out3)" = "$(stored u.db)" ]
	accounted u.db
	accounted t.db
	[ "$(sql t.db "SELECT count(*) FROM rocpd_op")" -eq "$(sed -n 's/.*kernels=//p' out1 out2 | awk '{ n += $1 } END { print n }')" ]
	run -0 find "$prefix" -name '*.rtl-incoming*'
	[ -z "$output" ]
}
