#!/bin/sh
# SPDX-License-Identifier: MIT
# foreign.sh BUILD_DIR: programs with another C library, 32-bit, static and setuid programs run in a recorded
# job as they do alone, and no loader prints a message; programs with glibc get the shim.
. "$(dirname "$0")/../lib.sh"
source=$(dirname "$0")/foreign.c
export XDG_RUNTIME_DIR="$dir" # no other test sees its collector
chmod 755 "$dir"
cd "$dir" || exit 1

musl-gcc -o musl "$source" || exit 1
musl-gcc -static -o musl-static "$source" || exit 1
gcc -static -o static "$source" || exit 1
gcc -o setuid "$source" && chown 65534 setuid && chmod 4755 setuid || exit 1
# Linked with a 32-bit library, so that it is not static.
gcc -m32 -shared -nostdlib -Wl,-soname,libnone.so -o libnone.so -x c /dev/null || exit 1
gcc -m32 -DFREESTANDING -nostdlib -no-pie -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables \
	-Wl,--no-as-needed -Wl,-rpath,"$dir" -Wl,--dynamic-linker,/lib/ld-linux.so.2 -o bits32 "$source" \
	libnone.so || exit 1

# same NAME COMMAND...: the program ends as it does alone.
same()
{
	name=$1
	shift
	"$@" >out 2>err </dev/null
	code=$?
	[ $code -eq 7 ] || die "$name: exit status $code"
	[ "$(cat out)" = hello ] || die "$name: it says $(cat out)"
	# rtl env may find that no collector listens.
	! grep -v '^rtl: collector at /run/rtl\.sock: no such socket; ' err || die "$name: it complains"
}

for mode in full hip; do
	for program in musl musl-static static setuid bits32; do
		same "$program alone" "./$program"
		same "$program, mode $mode" "$build/bin/rtl" run -m $mode -q -f -o t.db --device soft -- "./$program"
		same "$program of a shell, mode $mode" "$build/bin/rtl" run -m $mode -q -f -o t.db --device soft -- \
			sh -c "./$program; exit \$?"
		# rtl env says that no collector listens, which is not the program's doing.
		# shellcheck disable=SC2016 # that shell expands it
		same "$program, by rtl env, mode $mode" sh -c 'eval "$("$1" env -m $2 --device soft 2>said)"; exec "./$3"' sh \
			"$build/bin/rtl" $mode "$program"
	done
done
# A program with glibc gets the shim, even if a shell has expanded the name.
unset LD_PRELOAD
eval "$("$build/bin/rtl" env -m hip)"
for list in "$LD_PRELOAD" "$(PLATFORM=; eval "echo $LD_PRELOAD")"; do
	LD_PRELOAD=$list cat /proc/self/maps >out 2>err
	grep -q /librtl-shim.so out && grep -q /librtl-calls.so out || die "not preloaded as $list"
	[ ! -s err ] || die "$list: the loader complains"
done
