#!/bin/sh
# SPDX-License-Identifier: MIT
# If stderr has no reader, the shim's line must neither end nor block the program.
. "$(dirname "$0")/lib.sh"

# With a small file size limit there is no recorder, and OnLoad prints that on the program's thread.
run_with_stderr_of()
{
	env HSA_TOOLS_LIB="$shim" RTL_SOCKET="$dir/socket" LD_LIBRARY_PATH="$build/lib/softgpu" \
		python3 - "$1" "$build/tests/shim/shim-life" small_files >"$dir/out" 2>"$dir/err" <<'END'
import os
import subprocess
import sys

reader, writer = os.pipe()
if sys.argv[1] == "closed":
    os.close(reader)
else:
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
sys.exit(subprocess.run(sys.argv[2:], stderr=writer, timeout=300).returncode != 0)
END
}

run_with_stderr_of closed || die "the program ended with its stderr closed"
run_with_stderr_of full || die "the program hung or died with its stderr full"

# With a reader it is one line.
with_shim env -u SOFTGPU_TRUTH "$build/tests/shim/shim-life" small_files || die "small_files: $?"
[ "$(grep -c '^rtl: cannot record: File too large; ' "$dir/err")" = 1 ] || die "not one line"
[ "$(grep -c '^rtl:' "$dir/err")" = 1 ] || die "more than one line"
